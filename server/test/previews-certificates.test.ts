import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connect, createServer, type PeerCertificate, type TLSSocket } from 'node:tls'
import { readConfig } from '../src/config.ts'
import { openLocalAuthority } from '../src/gateway/previews/local-authority.ts'
import { startPreviewServer } from '../src/gateway/previews/server.ts'
import { startTestServer } from './harness.ts'

/* Certificates of previews: from the local authority, and from files that are renewed. */

const folder = await mkdtemp(join(tmpdir(), 'computer-certificates-'))
after(() => rm(folder, { recursive: true }))
const label = '0123456789abcdefghjkmnpqrs'
const authority = await openLocalAuthority(folder)
const ca = await readFile(authority.certPath, 'utf8')

test('the local authority signs a certificate for each hostname, and its key is private', async (t) => {
  const { subject, subjectaltname } = await handshake(t, `${label}.localhost`)
  assert.equal(subject.CN, 'Computer preview')
  assert.equal(subjectaltname, `DNS:${label}.localhost`)
  const mode = async (name: string) => (await stat(join(folder, 'previews', name))).mode & 0o777
  assert.deepEqual([await mode('authority.key'), await mode('')], [0o600, 0o700])
})

test('its name constraints exclude names that are not below localhost', async (t) => {
  await assert.rejects(handshake(t, 'example.com'), /permitted subtree|PERMITTED_VIOLATION/i)
})

test('the authority survives a restart', async () => {
  const again = await openLocalAuthority(folder)
  assert.equal(await readFile(again.certPath, 'utf8'), ca)
})

test('a certificate is used again while connections come, and then forgotten', async () => {
  const minuteMs = 60_000
  let time = Date.now()
  const { contextOf } = await openLocalAuthority(folder, () => time)
  const [used, unused] = [await contextOf('used.localhost'), await contextOf('unused.localhost')]
  const replacedAt = time + 3 * 24 * 60 * minuteMs
  for (let minutes = 6; minutes <= 12; minutes += 6) {
    time += 6 * minuteMs
    assert.equal(await contextOf('used.localhost'), used)
  }
  assert.notEqual(await contextOf('unused.localhost'), unused)
  for (time += 6 * minuteMs; time < replacedAt; time += 6 * minuteMs) {
    assert.equal(await contextOf('used.localhost'), used)
  }
  assert.notEqual(await contextOf('used.localhost'), used)
})

test('previews below localhost are served with its certificates, other names are refused', async (t) => {
  const env = {
    COMPUTER_PREVIEW_DOMAIN: 'localhost',
    COMPUTER_PREVIEW_CERT: '',
    COMPUTER_PREVIEW_KEY: '',
  }
  const server = await startTestServer(t, { worker: false, env: { ...env, COMPUTER_DATA: folder } })
  const { previews: domain } = server.app.config
  assert.deepEqual(domain?.tls, { by: 'authority' })
  const previews = await startPreviewServer(server.app, { ...domain, port: 0 })
  t.after(() => previews.close())
  const host = `${label}.localhost`
  const socket = connect({ port: previews.port, host: '127.0.0.1', servername: host, ca })
  await once(socket, 'secureConnect')
  assert.equal(socket.alpnProtocol, false)
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 404/)
  socket.destroy()
  for (const servername of ['localhost', 'evil.localhost', `x.${host}`]) {
    const other = connect({ port: previews.port, host: '127.0.0.1', servername, ca })
    await assert.rejects(once(other, 'secureConnect'))
  }
})

test('renewed files are loaded without a restart; broken ones are ignored', async (t) => {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const put = async (other: Awaited<ReturnType<typeof openLocalAuthority>>, from: string) => {
    // Any certificate will do, even that of an authority.
    await copyFile(other.certPath, cert)
    await copyFile(join(from, 'previews', 'authority.key'), key)
  }
  await put(authority, folder)
  const env = { COMPUTER_PREVIEW_CERT: cert, COMPUTER_PREVIEW_KEY: key }
  const server = await startTestServer(t, { worker: false, env })
  const previews = await startPreviewServer(server.app, { ...server.app.config.previews!, port: 0 })
  t.after(() => previews.close())
  const served = async () => {
    const options = { port: previews.port, host: '127.0.0.1', rejectUnauthorized: false }
    const socket = connect({ ...options, servername: `${label}.preview.test` })
    await once(socket, 'secureConnect')
    const { serialNumber } = socket.getPeerCertificate()
    socket.destroy()
    return serialNumber
  }
  const first = await served()
  await writeFile(cert, 'no certificate')
  assert.equal(await served(), first)
  const elsewhere = await mkdtemp(join(folder, 'other-'))
  await put(await openLocalAuthority(elsewhere), elsewhere)
  while ((await served()) === first);
})

test('a preview domain needs a certificate or a trusted proxy, and must not contain the service', () => {
  const config = (env: Record<string, string>) => readConfig(env).previews
  assert.equal(config({}), null)
  const domain = { COMPUTER_PREVIEW_DOMAIN: 'preview.example.com' }
  assert.throws(() => config(domain), /certificate/)
  assert.throws(() => config({ ...domain, COMPUTER_PREVIEW_CERT: '/cert' }), /together/)
  const proxied = { ...domain, COMPUTER_TRUST_PROXY: '10.0.0.1' }
  assert.deepEqual(config(proxied), {
    domain: 'preview.example.com',
    port: 7082,
    publicPort: 443,
    tls: { by: 'proxy' },
  })
  for (const base of ['https://preview.example.com', 'https://x.preview.example.com']) {
    assert.throws(() => config({ ...proxied, COMPUTER_BASE_URL: base }), /where people sign in/)
  }
  for (const wrong of ['Preview.example.com', 'a..b', '.a', 'a.', 'a_b', 'a:80', '*.a', '']) {
    assert.throws(
      () => config({ ...proxied, COMPUTER_PREVIEW_DOMAIN: wrong }),
      /in lower case/,
      wrong,
    )
  }
  assert.equal(config({ COMPUTER_PREVIEW_DOMAIN: 'localhost' })?.publicPort, 7082)
})

type Test = { after(end: () => void): void }

/** The certificate shown for a name to a client that trusts the authority. */
async function handshake(t: Test, servername: string): Promise<PeerCertificate> {
  const context = await authority.contextOf(servername)
  const server = createServer({ SNICallback: (_name, done) => done(null, context) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  const { port } = server.address() as { port: number }
  const socket: TLSSocket = connect({ port, host: '127.0.0.1', servername, ca })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerCertificate()
  socket.destroy()
  return certificate
}
