import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, test, type TestContext } from 'node:test'
import { createRandom, type Random } from '../../../e2e/harness/random.ts'
import { soakSeed, soakSize } from '../../../scripts/soak/sizes.ts'
import { startTestServer } from '../harness.ts'
import { changesCaller, prepareCallers, type Caller } from './callers.ts'
import { checkAnswer, createLeakCheck, type RawAnswer } from './checks.ts'
import { readDocument } from './document.ts'
import { knownValues } from './fields.ts'
import { makeRequest, type SentRequest } from './request.ts'
import { createSender } from './send.ts'
import { databaseSnapshot, digestOf, furnish, tend, untilQuiet, wasUnavailable } from './world.ts'

/*
 * Requests made from the OpenAPI document, valid ones and hostile ones, sent as every kind of caller. Every
 * answer is as the document says, and none shows or changes rows of another organization. The seed
 * repeats the requests of an earlier run; ids, and how requests interleave, are new each time.
 */

const seed = soakSeed(randomInt(2 ** 32))
const { count } = soakSize('requests')
const atOnce = 6
const tendEvery = 400
/** Of different kinds, after which the rest of the requests is not sent. */
const enoughProblems = 30

const env = { COMPUTER_SMTP_URL: 'smtp://127.0.0.1:1' }
const server = await startTestServer({ after }, { env })
const base = await server.listen()
const home = await furnish(server, 'homecanary', true)
const stranger = await furnish(server, 'strangecanary')
const vault = await furnish(server, 'vaultcanary')
const places = [home, stranger, vault]
const random = createRandom(seed)
const callers = await prepareCallers(server, { home, stranger, random: random.fork('callers') })
const visitor = await server.signUp({ email: 'visitor@example.com' })
const served = await server.call('GET', '/v1/openapi.json')
const document = readDocument(served.body)
const { send, close } = createSender(server.http, base)
after(close)

/** Of one test, which ends well within the time limit of a test on a busy host. */
const partSize = Math.min(Math.ceil(count / 8), 2_500)
const leaks = createLeakCheck(places)
const tally = new Map<string, number>()
const problems = new Set<string>()
const succeeded = new Set<string>()
await untilQuiet(server, vault)
const untouched = await digestOf(server, vault)

for (let first = 0; first < count; first += partSize) {
  const end = Math.min(first + partSize, count)
  const name = `requests ${first} to ${end - 1} from the document, by every kind of caller`
  test(`${name} (seed ${seed})`, async (t) => {
    let next = first
    const isOver = () => next >= end || problems.size >= enoughProblems
    const play = async () => {
      while (!isOver()) await check(next++, t)
    }
    await Promise.all(Array.from({ length: atOnce }, play))
    assert.deepEqual([...problems], [])
  })
}

test('the requests have changed no row of another organization', async (t) => {
  const counts = [...tally].sort().map(([kind, number]) => `${kind} ${number}`)
  t.diagnostic(`${count} requests with seed ${seed}: ${counts.join(', ')}`)
  const never = document.operations.filter(({ operationId }) => !succeeded.has(operationId))
  t.diagnostic(`never succeeded: ${never.map(({ operationId }) => operationId).join(', ')}`)
  assert.deepEqual(await digestOf(server, vault), untouched)
})

async function check(number: number, t: TestContext): Promise<void> {
  if (number % tendEvery === 0) {
    await tend(server, home)
    await tend(server, stranger)
    leaks.learn()
  }
  const { caller, operation, request } = await requestOf(number)
  leaks.noteSent(caller, request)
  const before = await databaseSnapshot(server)
  let answer: RawAnswer | undefined
  try {
    answer = await send(request, addressOf(random.fork(`address ${number}`)))
    checkAnswer(document, caller, request, answer)
    leaks.check(caller, request, answer)
    if (answer.status === 503) {
      const wasAway = await wasUnavailable(server, request, before)
      assert.ok(wasAway, `the machine was available, and the answer is ${answer.text}`)
    }
  } catch (error) {
    const problem = `${operation.operationId}: ${error instanceof Error ? error.message : error}`
    if (!problems.has(problem)) t.diagnostic(describe(number, caller, request, answer))
    problems.add(problem)
  }
  if ((answer?.status ?? 500) < 300) succeeded.add(operation.operationId)
  const key = `${caller.kind} ${String(answer?.status ?? 'no answer')[0]}xx`
  tally.set(key, (tally.get(key) ?? 0) + 1)
}

/** Those that hash a password, or copy a disk, or start one of the agent's processes, cost far more. */
const costly: Readonly<Record<string, number>> = {
  'auth.signup': 0.1,
  'auth.login': 0.1,
  'auth.logInWithLink': 0.1,
  'auth.changePassword': 0.1,
  'auth.resetPassword': 0.1,
  'machines.create': 0.25,
  'machines.fork': 0.25,
  'machines.start': 0.5,
  'machines.restart': 0.5,
  'snapshots.create': 0.15,
  'templates.create': 0.2,
  'exec.run': 0.4,
  'terminals.open': 0.4,
  'processes.start': 0.4,
  'desktop.screenshot': 0.5,
}
const weighted = document.operations.map((operation) => ({
  ...operation,
  weight: costly[operation.operationId] ?? 1,
}))

/** The request of a number; how it is made depends on the seed and the number alone. */
async function requestOf(number: number) {
  const own = random.fork(`request ${number}`)
  const operation = own.pickWeighted(weighted)
  const standing = own.pickWeighted(callers)
  const isChange = changesCaller.has(operation.operationId)
  const caller = isChange && standing.disposable ? await standing.disposable() : standing
  const place = caller.place ?? home
  const surroundings = {
    place,
    others: places.filter((one) => one !== place),
    visitorEmail: visitor.email,
  }
  const source = {
    random: own,
    hostility: own.pick([0, 0, 0, 0.1, 0.3, 0.7]),
    resolve: document.resolve,
    known: (name: string, schema: object) =>
      knownValues(own, surroundings, operation, name, schema as never),
  }
  return { caller, operation, request: makeRequest(source, operation, caller) }
}

function addressOf(own: Random): string {
  return `10.${own.below(256)}.${own.below(256)}.${own.below(256)}`
}

function describe(
  number: number,
  { kind }: Caller,
  { body, ...request }: SentRequest,
  answer: RawAnswer | undefined,
): string {
  const text = answer && { ...answer, text: answer.text.slice(0, 4_000) }
  const sent = { ...request, body: body?.toString('latin1') }
  const all = JSON.stringify({ seed, number, kind, request: sent, answer: text })
  return all.replace(
    /(.{1,4}?)\1{99,}/g,
    (run, unit: string) => `${unit}{${run.length / unit.length} times}`,
  )
}
