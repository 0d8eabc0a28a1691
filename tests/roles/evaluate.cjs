// Reads {policies: {name: policy}} and then one question a line; prints one verdict a line, in their order.
const { runSimulation } = require("@cloud-copilot/iam-simulate");
const [head, ...lines] = require("fs").readFileSync(0, "utf8").trimEnd().split("\n");
const { policies } = JSON.parse(head);

async function verdict({ principal, action, resource, account, context, identity, resourcePolicy }) {
  const response = await runSimulation(
    {
      request: { principal, action, resource: { resource, accountId: account }, contextVariables: context },
      identityPolicies: identity ? [{ name: identity, policy: policies[identity] }] : [],
      resourcePolicy: resourcePolicy ? policies[resourcePolicy] : undefined,
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  );
  if (response.resultType === "error") return { error: response.errors };
  const results = response.resultType === "single" ? [response.result] : response.results;
  return { result: response.overallResult, ignored: results.flatMap((one) => one.ignoredContextKeys ?? []) };
}

(async () => {
  for (const line of lines) console.log(JSON.stringify(await verdict(JSON.parse(line))));
})();
