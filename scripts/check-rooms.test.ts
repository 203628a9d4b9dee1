import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareRooms } from './check-rooms.ts'

const guide = `# Contributing

| Command | |
| --- | --- |
| \`npm test\` | no folder |

| Folder | Contents |
| --- | --- |
| \`server/src\` | the processes; begins in \`server/src/process.ts\` |
| \`server/src/domain\` | |
| \`server/src/domain/disks\` | |
| \`server/test\` | |
| \`bench/\`, \`e2e/\` | |

After the table: \`docs/\`.
`
const paths = [
  'server/src/process.ts',
  'server/src/domain/page.ts',
  'server/src/domain/disks/deep/pool.ts',
  'server/test/harness.ts',
  'bench/run.ts',
  'e2e/faults/run.ts',
]

test('a table that names each folder of code, and none besides, is accepted', () => {
  assert.deepEqual(compareRooms(guide, paths), [])
})

test('files at the root, hidden folders and folders without code need no row', () => {
  assert.deepEqual(compareRooms(guide, [...paths, 'a.ts', '.ci/run.sh', 'docs/api.md']), [])
})

test('a folder without a row is named, at every level', () => {
  const more = ['sdk/src/index.ts', 'server/src/queue/a.ts', 'server/src/domain/billing/a.ts']
  assert.deepEqual(compareRooms(guide, [...paths, ...more]), [
    'sdk has no row in the table of folders in CONTRIBUTING.md',
    'server/src/domain/billing has no row in the table of folders in CONTRIBUTING.md',
    'server/src/queue has no row in the table of folders in CONTRIBUTING.md',
  ])
})

test('a row without a folder is named', () => {
  const rest = paths.filter((path) => !/disks|e2e/.test(path))
  assert.deepEqual(compareRooms(guide, rest), [
    'e2e has a row in CONTRIBUTING.md and is no folder of code',
    'server/src/domain/disks has a row in CONTRIBUTING.md and is no folder of code',
  ])
})

test('a guide without the table is refused', () => {
  assert.throws(() => compareRooms('# Contributing\n', paths), /no table/)
})
