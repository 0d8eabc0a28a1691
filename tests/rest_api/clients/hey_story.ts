// The story by the client that @hey-api/openapi-ts made: `hey_story.js URL TOKEN`.
import { client } from "./hey/client.gen";
import { callTool, getBatch, listBatches, listTools, startBatch } from "./hey/sdk.gen";
import type { CallToolResponse, StartBatchResponse } from "./hey/types.gen";

declare const process: { argv: string[] };

async function main([url, token]: string[]) {
  client.setConfig({ baseUrl: url!, headers: { authorization: `Bearer ${token}` } });
  const listed = await listTools({ query: { module: "rag", effect: "reads" } });
  const called: CallToolResponse = (await callTool({ body: { name: "rag-list-tags" }, throwOnError: true })).data;
  const commands = [
    { id: "list", module: "rag", tool: "list_docs" },
    { id: "read", module: "rag", tool: "get_doc", params: { path: "${list.items[0].path}" } },
  ];
  const started: StartBatchResponse = (await startBatch({ body: { commands, wait: 20 }, throwOnError: true })).data;
  if (!("id" in started)) throw new Error("it is a plan");
  const batch = await getBatch({ path: { id: started.id }, query: { wait: 20 } });
  const batches = await listBatches();
  const refused = await callTool({ body: { name: "rag-list-tag" } });
  const shown = batch.data && "state" in batch.data ? batch.data : undefined;
  console.log(JSON.stringify({
    tools: listed.data?.tools.length,
    called: called.success,
    state: shown?.state,
    steps: shown?.steps?.map((step) => step.id),
    listed: batches.data?.batches.some((one) => one.id === started.id),
    error: [refused.response?.status, refused.error?.code],
  }));
}

void main(process.argv.slice(2));
