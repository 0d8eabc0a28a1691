// The story by openapi-fetch with the types that openapi-typescript made: `fetch_story.js URL TOKEN`.
import createClient from "openapi-fetch";
import type { paths } from "./schema";

declare const process: { argv: string[] };

async function main([url, token]: string[]) {
  const client = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } });
  const listed = await client.GET("/v1/tools", { params: { query: { module: "rag", effect: "reads" } } });
  const called = await client.POST("/v1/tools/call", { body: { name: "rag-list-tags" } });
  const commands = [
    { id: "list", module: "rag", tool: "list_docs" },
    { id: "read", module: "rag", tool: "get_doc", params: { path: "${list.items[0].path}" } },
  ];
  const started = await client.POST("/v1/batches", { body: { commands, wait: 20 } });
  if (!started.data || !("id" in started.data)) throw new Error("it is no batch");
  const { id } = started.data;
  const batch = await client.GET("/v1/batches/{id}", { params: { path: { id }, query: { wait: 20 } } });
  const batches = await client.GET("/v1/batches");
  const refused = await client.POST("/v1/tools/call", { body: { name: "rag-list-tag" } });
  const shown = batch.data && "state" in batch.data ? batch.data : undefined;
  console.log(JSON.stringify({
    tools: listed.data?.tools.length,
    called: called.data?.success,
    state: shown?.state,
    steps: shown?.steps?.map((step) => step.id),
    listed: batches.data?.batches.some((one) => one.id === id),
    error: [refused.response.status, refused.error?.code],
  }));
}

void main(process.argv.slice(2));
