import sys
from tests.workflow_jobs import place as p, github

p.build_runner()
env = {"PYTEST_ADDOPTS": "-p tests.workflow_jobs.sample"}
with p.place() as place:
    place.start_over()
    wf, name = sys.argv[1:3]
    more = eval(sys.argv[3]) if len(sys.argv) > 3 else {}
    ran = github.run(wf, name, place, github.event(name, place, **more), env)
    print(ran.jobs, ran.steps)
    print(place.service.pull_requests)
