import pytest
from botocore.config import Config
from botocore.exceptions import DataNotFoundError, UnknownServiceError
from botocore.loaders import Loader
from botocore.session import get_session

from mcpist.aws.botocore_loader import JsonFileLoader, ServiceModelLoader
from tests.faults import for_each
from tests.mocked_aws import read_file

SERVICES = ("dynamodb", "kms", "lambda", "s3", "ssm", "stepfunctions")


@pytest.fixture(autouse=True)
def _each_loader_reads_its_own_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JsonFileLoader, "load_file", read_file)


@pytest.mark.parametrize("name", ["endpoints", "partitions", "sdk-default-configuration"])
def test_data_for_all_services_is_as_botocore_loads_it(name: str) -> None:
    assert ServiceModelLoader().load_data(name) == Loader().load_data(name)


@for_each("service", list(SERVICES))
@for_each("kind", ["service-2", "endpoint-rule-set-1", "paginators-1"])
def test_models_of_a_service_are_as_botocore_loads_them(service: str, kind: str) -> None:
    assert ServiceModelLoader().load_service_model(service, kind) == Loader().load_service_model(service, kind)


def test_every_service_is_known_and_unknown_ones_are_refused() -> None:
    assert set(ServiceModelLoader().list_available_services("service-2")) >= set(
        Loader().list_available_services("service-2")
    )
    with pytest.raises(UnknownServiceError):
        ServiceModelLoader().load_service_model("nosuchservice", "service-2")
    with pytest.raises(DataNotFoundError):
        ServiceModelLoader().load_service_model("kms", "waiters-2")


def test_a_client_is_made_from_preloaded_models_without_reading_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = ServiceModelLoader()
    loader.preload(["dynamodb"])
    monkeypatch.setattr(loader, "file_loader", None)
    session = get_session()
    session.register_component("data_loader", loader)
    client = session.create_client("dynamodb", region_name="us-gov-west-1", config=Config(use_fips_endpoint=True))
    assert client.meta.endpoint_url == "https://dynamodb-fips.us-gov-west-1.amazonaws.com"
    assert client.meta.partition == "aws-us-gov"
