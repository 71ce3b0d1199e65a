"""OpenAPI says what the routes take."""


def test_each_route_that_takes_a_body_says_what_it_holds(start):
    _, call = start()
    status, api = call("GET", "/openapi.json")
    assert status == 200
    for path in ("/predict", "/learn", "/events", "/models/{name}/learn"):
        ((_, content),) = api["paths"][path]["post"]["requestBody"]["content"].items()
        keys = set(content["schema"]["properties"])
        assert keys == {"id", "features"} | (set() if path == "/predict" else {"label"})
        assert set(content["schema"]["required"]) <= set(content["example"]) <= keys
        assert call("POST", path.replace("{name}", "default"), content["example"])[0] in (200, 404)


def test_the_examples_go_from_a_forecast_to_its_label(start):
    _, call = start()
    paths = call("GET", "/openapi.json")[1]["paths"]
    for path, answer in (("/predict", "probabilities"), ("/learn", "step")):
        (content,) = paths[path]["post"]["requestBody"]["content"].values()
        status, got = call("POST", path, content["example"])
        assert (status, answer in got) == (200, True)


def test_each_part_of_a_path_is_described_once(start):
    _, call = start()
    for path, methods in call("GET", "/openapi.json")[1]["paths"].items():
        for operation in methods.values():
            given = [each for each in operation.get("parameters", []) if each["in"] == "path"]
            assert [each["name"] for each in given] == (["name"] if "{name}" in path else [])
