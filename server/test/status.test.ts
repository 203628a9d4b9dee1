import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendMail } from '../src/domain/accounts/mails.ts'
import { getDefaultImage } from '../src/domain/disks/images.ts'
import { runCommand } from './admin-process.ts'
import { startTestServer } from './harness.ts'

const mebibyte = 2 ** 20

test('the status says for how many machines a host has room, and what work waits', async (t) => {
  const server = await startTestServer(t)
  const { db } = server.app
  await server.machine()
  await server.stopWorkers()
  // 512 MiB stay free, and 64 for the machine that runs; each further one takes 256, and 64 later.
  const memory = { memory_total_bytes: 4096 * mebibyte, memory_available_bytes: 2048 * mebibyte }
  const image = (await getDefaultImage(db))!

  const status = async () => (await runCommand(server.databaseUrl, 'status')).stdout
  await db.updateTable('hosts').set({ images: [] }).execute()
  assert.match(await status(), /^local +local +ready, no image yet +1 /m)
  await db
    .updateTable('hosts')
    .set({ ...memory, images: [image.id] })
    .execute()
  assert.match(await status(), /^local +local +ready +1 .* 2\.0 of 4\.0 GiB +6 machines /m)
  const read = await runCommand(server.databaseUrl, 'status', '--json')
  const { hosts, work } = JSON.parse(read.stdout)
  assert.deepEqual([hosts.length, hosts[0].memory_room], [1, 6])
  assert.ok(work.some(({ kind }: { kind: string }) => kind === 'machines'))

  await db
    .transaction()
    .execute((tx) => sendMail(tx, { recipient: 'ada@example.com', subject: 'S', body: 'B' }))
  const hourAgo = new Date(Date.now() - 3_600_000)
  await db.updateTable('mails').set({ next_attempt_at: hourAgo, attempts: 3 }).execute()
  assert.match(await status(), /^mails +1 +60 min ago +1$/m)
})
