# A stand-in for openeuler/openeuler:24.03-lts, as far as a build meets it: dnf with a repository of
# packages by the names that targets ask for, the database of rpm, and a Python that looks below
# /usr/local/lib/python3.11/site-packages. The programs themselves are Debian's, and there already.
ARG DEBIAN
FROM ${DEBIAN}
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN apt-get update; \
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends dnf rpm createrepo-c \
        ca-certificates g++ libaio-dev libnuma-dev libpython3-dev make net-tools openssh-client \
        pciutils procps python3-dev python3-distutils python3-venv; \
    apt-get clean; \
    rm -rf /var/lib/apt/lists/* /usr/lib/python3.11/EXTERNALLY-MANAGED
# Debian's module site is frozen into the interpreter.
RUN sed -i 's/^ID=.*/ID=openEuler/' /usr/lib/os-release; \
    sed -i 's/dist-packages/site-packages/g' /usr/lib/python3.11/sysconfig.py; \
    echo /usr/local/lib/python3.11/site-packages >/usr/lib/python3/dist-packages/openeuler.pth; \
    mkdir -p /etc/rpm; \
    echo '%_dbpath /var/lib/rpm' >/etc/rpm/macros.dbpath
# dnf keeps packages only of a repository that has an address.
COPY openeuler.spec /tmp/
RUN rpmbuild --quiet -bb --define '_topdir /tmp/made' --define '_rpmdir /srv/repository' /tmp/openeuler.spec; \
    createrepo_c --quiet /srv/repository; \
    rm -rf /tmp/made /tmp/openeuler.spec; \
    mkdir -p /etc/yum.repos.d; \
    printf '[stand-in]\nname=stand-in\nbaseurl=http://127.0.0.1:8000\ngpgcheck=0\n' >/etc/yum.repos.d/stand-in.repo
COPY --chmod=755 dnf /usr/local/bin/dnf
