import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { startComputer } from './computer.ts'

const computer = await startComputer({ after })

test('a machine is addressed by name from creation to deletion', async () => {
  const { json, run } = computer
  const created = await run(['machines', 'create', 'first', '--metadata', 'myKey=a=b'])
  assert.equal(created.code, 0, created.stderr)
  assert.match(created.stdout, /^first is running \(mch_\w+\)\n$/)
  // Progress is for terminals.
  assert.equal(created.stderr, '')

  const machine = await json('machines', 'get', 'first')
  assert.deepEqual(machine.metadata, { myKey: 'a=b' })
  assert.equal(machine.memory_mb, 4096)
  assert.deepEqual(await json('machines', 'get', machine.id), machine)

  const table = await run(['machines', 'list'])
  assert.match(table.stdout, /^NAME +STATE +SIZE +ID +CREATED\nfirst +running +small +mch_/)
  assert.deepEqual(await json('m', 'ls', '--state', 'stopped'), [])

  assert.equal((await run(['machines', 'stop', 'first'])).stdout, 'first is stopped\n')
  assert.equal((await json('machines', 'resize', 'first', 'standard')).size, 'standard')
  assert.equal((await run(['machines', 'start', 'first'])).stdout, 'first is running\n')
  assert.equal((await json('machines', 'restart', 'first')).state, 'running')
  assert.equal((await json('machines', 'rename', 'first', 'renamed')).name, 'renamed')

  const refused = await run(['machines', 'delete', 'renamed'])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /pass --yes/)
  const deleted = await run(['machines', 'rm', 'renamed', '--yes'])
  assert.equal(deleted.stdout, 'renamed is deleted\n')
  const [kept] = await json('snapshots', 'list', machine.id)
  assert.equal(kept.origin, 'stop')
  assert.match(deleted.stderr, new RegExp(`^1 snapshot is kept \\(\\d.*B\\): .* ${machine.id}\n`))
  assert.match(deleted.stderr, new RegExp(`templates create NAME --snapshot ${kept.id}\n`))
  assert.match(deleted.stderr, new RegExp(`snapshots delete ${kept.id}\n$`))
  await json('templates', 'create', 'of-renamed', '--snapshot', kept.id)
  await json('machines', 'create', 'again', '--template', 'of-renamed')
  await json('snapshots', 'create', 'again')
  const gone = await json('machines', 'delete', 'again', '--snapshots', '--yes')
  assert.deepEqual(gone.kept_snapshots, [])
  assert.deepEqual(await json('snapshots', 'list', gone.id), [])
  await json('templates', 'delete', 'of-renamed', '--yes')
  const none = await run(['machines', 'list'])
  assert.deepEqual([none.stdout, none.code], ['', 0])
  assert.match(none.stderr, /machines create/)
})

test('a machine is created once and started twice without a complaint', async () => {
  const { json, run } = computer
  const ask = ['machines', 'create', 'same', '--if-not-exists']
  const first = await json(...ask)
  assert.equal((await json(...ask)).id, first.id)
  assert.equal((await run(['start', 'same'])).stdout, 'same is running\n')
  for (let times = 0; times < 2; times++)
    assert.equal((await run(['stop', 'same'])).stdout, 'same is stopped\n')
  assert.equal((await run(ask)).stdout, `same is running (${first.id})\n`)
  const nameless = await run(['machines', 'create', '--if-not-exists'])
  assert.deepEqual([nameless.code, nameless.stdout], [2, ''])
})

test('snapshots, forks, restores and templates are addressed by name', async () => {
  const { json, run } = computer
  const source = await json('machines', 'create', 'source')
  await run(['cp', '-', 'source:plan.txt'], { stdin: 'good' })
  const snapshot = await json('snapshots', 'create', 'source', 'before')
  assert.equal(snapshot.state, 'ready')
  await run(['cp', '-', 'source:plan.txt'], { stdin: 'bad' })
  await json('machines', 'restore', 'source', 'before', '--yes')
  assert.equal((await run(['exec', 'source', 'cat', 'plan.txt'])).stdout, 'good')
  const names = (await json('snapshots', 'list', 'source')).map(
    ({ name }: { name: string }) => name,
  )
  assert.deepEqual(names, ['Before restore', 'before'])
  assert.equal((await json('snapshots', 'get', 'before')).machine_id, source.id)

  const older = await run(['snapshots', 'delete', 'before', '--yes'])
  assert.equal(older.code, 6)
  assert.match(older.stderr, /^error: .*snp_/)
  await json('snapshots', 'rm', 'Before restore', '--yes')

  const fork = await json('machines', 'fork', 'source', 'second', '--snapshot', 'before')
  assert.deepEqual([fork.name, fork.state], ['second', 'running'])

  await json('templates', 'create', 'base', '--snapshot', 'before', '--description', 'a base')
  assert.match(
    (await run(['templates', 'list'])).stdout,
    /^NAME .*DESCRIPTION\nbase +ready .*a base\n$/,
  )
  const made = await json('machines', 'create', 'third', '--template', 'base')
  assert.equal(made.template_id, (await json('templates', 'get', 'base')).id)
  await json('templates', 'delete', 'base', '--yes')
  assert.equal((await run(['templates', 'get', 'base'])).code, 5)
})

test('an unknown name fails and says how to list the known ones', async () => {
  const { run } = computer
  const { code, stderr } = await run(['machines', 'get', 'nobody'])
  assert.equal(code, 5)
  assert.equal(
    stderr,
    'error: machine "nobody" not found; list the available ones with `computer machines list`\n',
  )
  const json = await run(['machines', 'get', 'mch_00000000000000000000000000', '--json'])
  assert.equal(json.code, 5)
  assert.equal(JSON.parse(json.stderr).error.code, 'not_found')
  assert.ok(JSON.parse(json.stderr).error.request_id)
})

test('events are in order, and --follow continues with new ones', async () => {
  const { json, run, start } = computer
  await json('machines', 'create', 'watched')
  const { stdout } = await run(['events', 'watched'])
  assert.match(stdout, /machine\.created[^]*machine\.started/)
  const { child, ended } = start(['events', 'watched', '--follow', '--limit', '1', '--json'])
  // Wait for the name to be resolved: a deleted machine no longer has one.
  await once(child.stdout!, 'data')
  await json('machines', 'delete', 'watched', '--yes')
  const lines = (await ended).stdout.trim().split('\n')
  const events = lines.map((line) => JSON.parse(line))
  assert.equal(events.at(-1).type, 'machine.deleted')
  const sequences = events.map(({ sequence }) => sequence)
  assert.deepEqual(
    sequences,
    sequences.map((_, index) => sequences[0] + index),
  )
  assert.equal((await run(['events'])).code, 2)
})
