from tests.dashboard.served import made, serving

from allweather.dashboard.studies import encode_segment

ROOT = "/api/v1/studies"
SCRIPT = "<script>alert(1)</script>"


def test_scripts_and_styles_are_kept_forever_by_an_address_with_their_version(client):
    page = client.get("/studies/kiosk").text
    for address in [part.split('"')[0] for part in page.split('"/static/')[1:]]:
        answer = client.get(f"/static/{address}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert any(each.isdigit() for each in address)
    assert client.get("/static/..%2fguard.py").status_code == 404


def test_a_script_in_a_name_is_shown_as_text(url):
    nasty = f'"{SCRIPT}"'
    recipe = f"""
initial = 2
[variables]
wood = {{ options = ['{SCRIPT}', "'\\" onload=x"] }}
rain = {{ lower = 0, upper = 1, context = true }}
"""
    study = made(url, recipe, nasty)
    for number in range(3):
        study.tell(study.ask(), float(number), context={"rain": 0.2 * number})
    study.ask()
    with serving(url) as server, server.client() as client:
        (glance,) = client.get(ROOT).json()["studies"]
        here = glance["address"].removeprefix("/api/v1")
        for path in ("/", here, f"{here}/recommendation", f"{here}/trials", f"{here}/trials/0", f"{here}/pending"):
            text = client.get(path).text
            assert SCRIPT not in text
            assert "&lt;script&gt;alert(1)" in text
            assert "' onload" not in text
            assert '" onload' not in text
        assert SCRIPT not in client.get(f"/studies/{encode_segment(SCRIPT)}").text
        for figure in ("profile", "slices", "contexts"):
            drawn = client.get(f"{glance['address']}/figures/{figure}").text
            assert SCRIPT not in drawn
