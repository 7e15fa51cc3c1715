class AbstractFileSystem:
    protocol: str
    cachable: bool
    def __init__(self) -> None: ...
