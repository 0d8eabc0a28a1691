// Runs machines on npm aws-local-stepfunctions with a step runner that does no work: [{definition, needs, each, lost}]
// in, [{entries, settled, elements}] out. See stub_runner.py, which does the same on a virtual clock.
Promise.withResolvers ??= () => {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};
const { StateMachine } = require("aws-local-stepfunctions");

function* tasks(scope) {
  for (const [name, state] of Object.entries(scope.States)) {
    if (state.Type === "Task") yield name;
    for (const inner of state.Branches ?? []) yield* tasks(inner);
    if (state.ItemProcessor) yield* tasks(state.ItemProcessor);
  }
}

function runner({ needs, each, lost }) {
  const seen = { entries: [], settled: [], elements: [] };
  const opened = (step) =>
    needs.flatMap((wanted, other) => {
      const places = wanted.map((need) => seen.settled.indexOf(need));
      const last = Math.max(...places);
      return wanted.includes(step) && !places.includes(-1) && seen.settled[last] === step ? [other] : [];
    });
  const answer = async ({ batch, step, element, gather, lost: gone, ...context }) => {
    if (!["retry", "execution", "started", "machine"].every((name) => name in context)) throw new Error("no context");
    if (lost.includes(step) && !gone) throw Object.assign(new Error("gone"), { name: "Runtime.ExitError" });
    if (element !== undefined) return seen.elements.push([step, element]), { batch, go: {} };
    if (!gather && !gone) seen.entries.push(step);
    await new Promise((resolve) => setTimeout(resolve, (step * 7) % 5)); // who settles first is left to chance
    if (!gather && !gone && each[step]) return { batch, go: {}, each: [...Array(each[step]).keys()] };
    seen.settled.push(step);
    return { batch, go: Object.fromEntries(opened(step).map((other) => ["s" + other, true])) };
  };
  return { seen, handle: async (input) => ({ Payload: await answer(input.Payload), StatusCode: 200 }) };
}

const unchecked = { validationOptions: { noValidate: true } }; // asl-validator has its own test

async function run(batch) {
  const { seen, handle } = runner(batch);
  const names = [...tasks(batch.definition)];
  const overrides = {
    taskResourceLocalHandlers: Object.fromEntries(names.map((name) => [name, handle])),
    retryIntervalOverrides: Object.fromEntries(names.map((name) => [name, 0])),
  };
  const context = { Execution: { Id: "run-1" }, StateMachine: { Id: "machine" }, State: { RetryCount: 0 } };
  await new StateMachine(batch.definition, unchecked).run({ batch: "b1" }, { overrides, context }).result;
  return seen;
}

const batches = JSON.parse(require("fs").readFileSync(0, "utf8"));
Promise.all(batches.map(run)).then((found) => console.log(JSON.stringify(found)));
