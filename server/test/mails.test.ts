import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import pino from 'pino'
import { createApi } from '../src/api/server.ts'
import { claimMail, sendMail } from '../src/domain/accounts/mails.ts'
import { deliverMails } from '../src/worker/mails.ts'
import { timing } from '../src/timing.ts'
import { startTestServer, type Lifetime } from './harness.ts'
import { eventually } from './settled.ts'
import { startSmtpServer } from './smtp-server.ts'

// The real delays: the tests make mails due by themselves.
const { mailRetry } = timing
const server = await startTestServer({ after }, { worker: false, timing: { mailRetry } })
const { db } = server.app
const secret = 'http://127.0.0.1/#token=computer_invitation_secret'

test('an invitation is mailed to its address, and its row is deleted then', async (t) => {
  const { letters, url } = await startSmtpServer(t)
  const log = collectLog()
  const { invite } = await api(t, url)
  const { body } = await invite('Ada@example.com', { role: 'admin' })
  deliver(t, url, log)
  const [letter] = await eventually(async () => (letters.length > 0 ? letters : undefined))
  assert.deepEqual(letter!.recipients, ['ada@example.com'])
  const { headers } = letter!
  assert.equal(headers.get('to'), 'ada@example.com')
  assert.equal(headers.get('from'), server.app.config.mailFrom)
  assert.equal(headers.get('subject'), 'Somebody invites you to Strangers')
  assert.match(headers.get('content-type')!, /^text\/plain; charset=utf-8/)
  assert.equal(headers.get('auto-submitted'), 'auto-generated')
  assert.ok(letter!.body.includes(`\r\n${body.accept_url}\r\n`), letter!.body)
  assert.match(letter!.body, /Somebody.*"Strangers".*as admin.*ada@example\.com.*7 days/s)
  await eventually(isEmpty)
  assert.equal(letters.length, 1)
  assert.deepEqual(log.lines, [])
})

test('without a mail server no mail is queued, and the worker logs that once', async (t) => {
  const { invite } = await api(t, null)
  assert.match((await invite('ada@example.com')).body.accept_url, /#token=/)
  assert.ok(await isEmpty())
  const log = collectLog()
  await deliverMails(withMail(null, log), new AbortController().signal)
  assert.equal(log.lines.length, 1)
  assert.match(log.lines[0]!, /COMPUTER_SMTP_URL is not set/)
})

test('names in a mail cannot inject headers, recipients or lines', async (t) => {
  const { letters, url } = await startSmtpServer(t)
  const { invite, owner } = await api(t, url)
  const name = 'Ümit\r\nBcc: thief@example.com\r\n\r\nGo to http://evil.example\u2028\u202e"'
  await db.updateTable('users').set({ name }).where('id', '=', owner.userId).execute()
  await db
    .updateTable('organizations')
    .set({ name: `${name}${'x'.repeat(200)}` })
    .where('id', '=', owner.organizationId)
    .execute()
  await invite('ada@example.com')
  const mail = {
    recipient: 'a@example.com\r\nRCPT TO:<thief@example.com>',
    subject: 'Hello\r\nBcc: thief@example.com\u202e',
    body: '',
  }
  await db.transaction().execute((tx) => sendMail(tx, mail))
  deliver(t, url)
  await eventually(isEmpty)
  const [letter, odd] = letters
  assert.deepEqual(letter!.recipients, ['ada@example.com'])
  assert.ok(!letter!.headers.has('bcc'))
  assert.match(
    letter!.headers.get('subject')!,
    /^Ümit Bcc: thief@example\.com Go to http:\/\/evil\.example "/,
  )
  assert.match(letter!.body, /^Ümit Bcc: thief@example\.com Go to/)
  // An invalid address that contains a command stays one recipient.
  assert.deepEqual(odd!.recipients, ['"a@example.com RCPT TO: thief"@example.com'])
  assert.equal(odd!.headers.get('subject'), 'Hello Bcc: thief@example.com')
})

test('a mail is retried until the mail server is up again', async (t) => {
  const down = await startSmtpServer(t)
  await down.stop()
  const log = collectLog()
  await put('ada@example.com')
  deliver(t, down.url, log)
  await eventually(async () => (await lastError()) ?? undefined)
  const { letters } = await startSmtpServer(t, { port: down.port })
  await makeDue()
  await eventually(isEmpty)
  assert.deepEqual(
    letters.map(({ recipients }) => recipients),
    [['ada@example.com']],
  )
  assert.equal(log.lines.length, 1)
  assert.match(log.lines[0]!, /could not send a mail; will retry/)
})

test('temporary refusals are retried with increasing delays', async (t) => {
  for (const [command, reply] of [
    ['RCPT', '450 try again'],
    ['MAIL', '550 not from you'],
    ['.', '451 try again'],
  ] as const) {
    const answer = (said: string) => (said.startsWith(command) ? reply : undefined)
    const { url, stop } = await startSmtpServer(t, { answer })
    await put('ada@example.com')
    const worker = deliver(t, url)
    const waits: number[] = []
    for (let tries = 1; tries <= 2; tries++) {
      await eventually(
        async () => ((await attempts()) === tries && (await lastError())) || undefined,
      )
      waits.push(Math.ceil((await secondsToNextTry()) / 30))
      await db.updateTable('mails').set({ last_error: null }).execute()
      await makeDue()
    }
    assert.deepEqual(waits, [1, 2], command)
    await worker.stop()
    await stop()
    await db.deleteFrom('mails').execute()
  }
})

test('a permanently refused mail is deleted, and the log quotes nothing of it', async (t) => {
  const refusals = {
    RCPT: '550 5.1.1 no such mailbox ada@example.com',
    '.': `554 5.7.1 spam: ${secret}`,
  }
  for (const [command, reply] of Object.entries(refusals)) {
    const log = collectLog()
    const answer = (said: string) => (said.startsWith(command) ? reply : undefined)
    const { letters, url, stop } = await startSmtpServer(t, { answer })
    await put('ada@example.com')
    const worker = deliver(t, url, log)
    await eventually(isEmpty)
    await worker.stop()
    await stop()
    assert.equal(letters.length, 0)
    assert.equal(log.lines.length, 1)
    assert.match(log.lines[0]!, /refused a mail permanently; dropping it/)
    assert.equal(JSON.parse(log.lines[0]!).response_code, Number(reply.slice(0, 3)))
    assert.doesNotMatch(log.lines[0]!, /token|ada@|spam|mailbox/)
  }
})

test('a mail that could not be sent for three days is deleted', async (t) => {
  const down = await startSmtpServer(t)
  await down.stop()
  const log = collectLog()
  await put('young@example.com')
  await put('old@example.com')
  await db
    .updateTable('mails')
    .set({ created_at: sql`now() - interval '3 days'` })
    .where('recipient', '=', 'old@example.com')
    .execute()
  deliver(t, down.url, log)
  await eventually(async () => (log.lines.length === 2 && (await count()) === 1) || undefined)
  assert.equal(log.lines.filter((line) => line.includes('gave up on sending a mail')).length, 1)
  const { recipient } = await db.selectFrom('mails').select('recipient').executeTakeFirstOrThrow()
  assert.equal(recipient, 'young@example.com')
  await db.deleteFrom('mails').execute()
})

test('two workers send each mail once, and skip the mails of the other', async (t) => {
  const held = Promise.withResolvers<undefined>()
  const reached = Promise.withResolvers<undefined>()
  const answer = (said: string) => {
    if (!said.startsWith('RCPT TO:<held@')) return undefined
    reached.resolve(undefined)
    return held.promise
  }
  const { letters, url } = await startSmtpServer(t, { answer })
  await put('held@example.com')
  deliver(t, url)
  await reached.promise
  deliver(t, url)
  const others = Array.from({ length: 20 }, (_, index) => `person-${index}@example.com`)
  for (const recipient of others) await put(recipient)
  // The second worker sends all the others while the first still waits for its server.
  await eventually(
    async () => (letters.length === others.length && (await count()) === 1) || undefined,
  )
  assert.equal(await claimMail(db), undefined)
  held.resolve(undefined)
  await eventually(isEmpty)
  assert.deepEqual(
    letters.flatMap(({ recipients }) => recipients).sort(),
    [...others, 'held@example.com'].sort(),
  )
})

test('of many workers that claim concurrently, one gets the mail', async () => {
  await put('ada@example.com')
  const claims = await Promise.all(Array.from({ length: 8 }, () => claimMail(db)))
  assert.equal(claims.filter((claim) => claim !== undefined).length, 1)
  await db.deleteFrom('mails').execute()
})

test('the mail of a dead worker is sent by another', async (t) => {
  const { letters, url } = await startSmtpServer(t)
  await put('ada@example.com')
  const dead = await claimMail(db)
  deliver(t, url)
  // Not before the claim expires.
  assert.ok((await secondsToNextTry()) > 90)
  await makeDue()
  await eventually(isEmpty)
  assert.equal(letters.length, 1)
  assert.ok(letters[0]!.headers.get('message-id')!.includes(dead!.id))
})

/** The API with that mail server. */
async function api(t: TestContext, smtpUrl: string | null) {
  const owner = await server.user('owner', 'stranger')
  const http = createApi(withMail(smtpUrl), { authenticate: async () => owner })
  t.after(() => http.close())
  return {
    owner,
    async invite(email: string, options: object = {}) {
      const payload = { email, ...options }
      const answer = await http.inject({ method: 'POST', url: '/v1/invitations', payload })
      assert.equal(answer.statusCode, 201)
      return { body: answer.json() as { accept_url: string } }
    },
  }
}

function deliver(t: Lifetime, smtpUrl: string, log = collectLog()) {
  const stopping = new AbortController()
  const working = deliverMails(withMail(smtpUrl, log), stopping.signal)
  const stop = () => {
    stopping.abort()
    return working
  }
  t.after(stop)
  return { stop }
}

function withMail(smtpUrl: string | null, log = collectLog()) {
  return { ...server.app, log: log.logger, config: { ...server.app.config, smtpUrl } }
}

/** Collects the log. */
function collectLog() {
  const lines: string[] = []
  const write = (line: string) => {
    lines.push(line)
  }
  return { lines, logger: pino({ level: 'info' }, { write }) }
}

async function put(recipient: string): Promise<void> {
  await db
    .transaction()
    .execute((tx) => sendMail(tx, { recipient, subject: 'Hello', body: `Go to\n${secret}\n` }))
}

async function makeDue(): Promise<void> {
  await db
    .updateTable('mails')
    .set({ next_attempt_at: sql`now()` })
    .execute()
}

async function count(): Promise<number> {
  return (await db.selectFrom('mails').select('id').execute()).length
}

async function isEmpty(): Promise<true | undefined> {
  return (await count()) === 0 || undefined
}

async function attempts(): Promise<number | undefined> {
  return (await db.selectFrom('mails').select('attempts').executeTakeFirst())?.attempts
}

async function lastError(): Promise<string | null | undefined> {
  return (await db.selectFrom('mails').select('last_error').executeTakeFirst())?.last_error
}

async function secondsToNextTry(): Promise<number> {
  const { seconds } = await db
    .selectFrom('mails')
    .select(sql<number>`extract(epoch from next_attempt_at - now())::float8`.as('seconds'))
    .executeTakeFirstOrThrow()
  return seconds
}
