import type { JsonSchema } from '@computer/contract'
import type { Random } from '../../../e2e/harness/random.ts'
import { goodPassword } from '../browser.ts'
import type { Operation } from './document.ts'
import type { Place } from './world.ts'

/*
 * Values of fields that their schemas alone cannot give: ids of rows, and those that would run long or do
 * harm if they were made up.
 */

export type Surroundings = {
  readonly place: Place
  /** The other organizations. */
  readonly others: readonly Place[]
  /** A user of no organization of the test, whom anybody may sign in as. */
  readonly visitorEmail: string
}

export function knownValues(
  random: Random,
  { place, others, visitorEmail }: Surroundings,
  operation: Operation,
  name: string,
  schema: JsonSchema,
): readonly unknown[] | undefined {
  const { $ref } = schema as { $ref?: string }
  const idName = /\/(\w+Id)$/.exec($ref ?? '')?.[1]
  if (idName !== undefined) return [pickId(random, { place, others }, operation, idName)]
  switch (name) {
    case 'email':
      return operation.tags[0] === 'auth' && random.fraction() < 0.5 ? [visitorEmail] : undefined
    case 'password':
    case 'current_password':
    case 'new_password':
      return [goodPassword, goodPassword, 'another good password']
    case 'x-session-id':
      return place.ids['SessionId']
    case 'cursor':
      return Object.values(place.ids).flatMap((ids) =>
        ids.slice(0, 1).map((id) => Buffer.from(id).toString('base64url')),
      )
    default:
      return (fields as Record<string, readonly unknown[]>)[name]
  }
}

/** Short, harmless and cheap. Paths stay in the machine's own folders. */
const fields = {
  wait: [0, 0, 0.01, 0.05],
  timeout_ms: [1, 200, 10_000],
  delay_ms: [0, 1],
  steps: [1, 5],
  command: [
    ['true'],
    ['echo', 'é'],
    ['sh', '-c', 'exit 3'],
    ['no-such-program'],
    ['sleep', '0.05'],
  ],
  cwd: ['/', '/tmp', '/nonexistent', '/etc/hosts', 'Desktop'],
  path: [
    'a.txt',
    'b.txt',
    'Desktop',
    '.',
    '/etc/hosts',
    'no/such',
    'a.txt/b',
    'é %2e.txt',
    '/tmp/../tmp/x',
    'n'.repeat(300),
    'd/'.repeat(1500),
  ],
  from: ['a.txt', 'b.txt', 'no-such', 'd/e'],
  to: ['b.txt', 'c.txt', 'd/e', 'Desktop/a.txt'],
  env: [{}, { A: 'b' }],
  // A budget that stops machines would stop the one that everything is sent to.
  action: ['notify'],
  range: [
    'bytes=0-1',
    'bytes=0-',
    'bytes=5-2',
    'bytes=999999-',
    'bytes=-1',
    'lines=1-2',
    'bytes=0-0,2-3',
  ],
  x: [0, 5, 639],
  y: [0, 5, 479],
  key: ['enter', 'a', 'ctrl', 'no-such-key'],
  offset: [0, 1, 5, 2 ** 40],
  content: ['', 'text', 'dGV4dA==', 'x'.repeat(20_000)],
}

/** Tags of the operations that talk to the machine's agent. */
const guestTags = new Set(['exec', 'files', 'terminals', 'processes'])
const moves = new Set(
  ['start', 'stop', 'restart', 'restore', 'delete'].map((name) => `machines.${name}`),
)

function pickId(
  random: Random,
  { place, others }: Pick<Surroundings, 'place' | 'others'>,
  { operationId, tags }: Operation,
  name: string,
): string {
  const chance = random.fraction()
  if (chance < 0.08)
    return `${prefixes[name] ?? 'mch'}_${random.pick(['0'.repeat(26), 'z'.repeat(20), '0'.repeat(32)])}`
  const foreign = random.pick(others).ids[name] ?? []
  if (chance < 0.2 && foreign.length > 0) return random.pick(foreign)
  const own = place.ids[name] ?? []
  // The newest is often the holder of the input lease.
  if (name === 'SessionId' && operationId !== 'sessions.close' && chance < 0.5) return own[0]!
  if (name === 'MachineId') {
    const spare = own.filter((id) => id !== place.workhorse)
    // Each boot of another machine would start another agent.
    if (guestTags.has(tags[0]!) || operationId === 'machines.usage') return place.workhorse
    return moves.has(operationId) || random.fraction() < 0.5 ? random.pick(spare) : place.workhorse
  }
  return own.length > 0 ? random.pick(own) : `${prefixes[name] ?? 'mch'}_${'1'.repeat(26)}`
}

const prefixes: Readonly<Record<string, string>> = {
  OrganizationId: 'org',
  MachineId: 'mch',
  SnapshotId: 'snp',
  TemplateId: 'tpl',
  BudgetId: 'bud',
  ApiKeyId: 'key',
  SessionId: 'ses',
  MembershipId: 'mem',
  InvitationId: 'inv',
  AuthSessionId: 'aus',
  TerminalId: 'trm',
  ProcessId: 'prc',
  PreviewId: 'prv',
  ImageId: 'img',
}
