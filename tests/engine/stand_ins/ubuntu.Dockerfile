# A stand-in for ubuntu:24.04, as far as a build meets it: Debian's packages and layout, its user of
# HwHiAiUser's number with groups, home and subordinate numbers. It also starts in a way of its own.
ARG DEBIAN
FROM ${DEBIAN}
RUN sed -i 's/^ID=.*/ID=ubuntu/; s/^VERSION_CODENAME=.*/VERSION_CODENAME=noble/' /usr/lib/os-release; \
    useradd --create-home --shell /bin/bash --groups adm,dialout,cdrom,sudo,audio,video,plugdev ubuntu; \
    grep -q ^ubuntu: /etc/subuid; \
    touch /home/ubuntu/.sudo_as_admin_successful; \
    chown --recursive ubuntu:ubuntu /home/ubuntu
USER ubuntu
WORKDIR /home/ubuntu
ENTRYPOINT ["/bin/false"]
CMD ["--help"]
