from servers.embedded import Embedded
def test_x(house: Embedded):
    print(house.client().whoami())
    print(house.call("GET","/api/v1/users"))
