# The template of the formula: a release fills in its version, hash and repository, and attaches it for a tap.
class Mcpist < Formula
  desc "One hosted MCP endpoint that puts many SaaS tools behind three meta-tools"
  homepage "https://github.com/REPOSITORY"
  url "https://github.com/REPOSITORY/releases/download/vVERSION/mcpist-VERSION-py3-none-any.whl", using: :nounzip
  sha256 "SHA256"
  license "Apache-2.0"

  depends_on "uv" => :build
  depends_on "python@3.13"

  def install
    system "uv", "venv", "--python", Formula["python@3.13"].opt_bin/"python3.13", libexec
    system "uv", "pip", "install", "--python", libexec, "#{Dir["*.whl"].first}[local]"
    bin.install_symlink libexec/"bin/mcpist"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mcpist --version")
  end
end
