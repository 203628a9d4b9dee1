import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { text } from 'node:stream/consumers'
import { startServer } from './server.ts'

/* Programs that type and end in all ways. Each leaves the machine free for its next run. */

const server = await startServer({ after })
const observer = server.connect()
const sdk = new URL('../src/index.ts', import.meta.url).href

/** Starts a program that types on a machine, says so and goes on as given. */
async function startTyping(name: string, rest: string, options = '') {
  const code = `
    import { Computer } from '${sdk}'
    const computer = new Computer({ ${options} })
    const machine = await computer.machines.get('${name}')
    await machine.keyboard.type('a')
    console.log('typed')
    ${rest}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    env: {
      ...process.env,
      COMPUTER_API_KEY: server.key,
      COMPUTER_BASE_URL: server.baseUrl,
      COMPUTER_GATEWAY_URL: server.gatewayUrl,
    },
    timeout: 60_000,
  })
  const errors = text(child.stderr)
  const ended = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>
  await Promise.race([once(child.stdout, 'data'), ended])
  return { child, ended, errors }
}

const forever = 'setInterval(() => {}, 1000)'

async function createMachine(): Promise<string> {
  return (await observer.machines.create()).name
}

/** The sessions that are not closed, and the holder of the lease. */
async function remainsOf(name: string) {
  const machine = await observer.machines.get(name)
  const sessions = await machine.sessions().all()
  const open = sessions.filter(({ state }) => state !== 'closed')
  return [open.length, (await machine.input.holder()).holder]
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`after ${signal}, the same program works again at once`, async () => {
    const name = await createMachine()
    for (let run = 0; run < 2; run++) {
      const { child, ended, errors } = await startTyping(name, forever)
      assert.equal((await remainsOf(name))[0], 1)
      child.kill(signal)
      assert.deepEqual([await ended, await errors], [[null, signal], ''])
      assert.deepEqual(await remainsOf(name), [0, null])
    }
  })
}

test('a signal in the middle of typing ends the program in silence', async () => {
  const name = await createMachine()
  const { id } = await observer.machines.get(name)
  const typing = `for (;;) await machine.keyboard.type('b')`
  const { child, ended, errors } = await startTyping(name, typing)
  const hold = server.guest(id).desktop.holdInput()
  child.kill('SIGINT')
  assert.deepEqual([await ended, await errors], [[null, 'SIGINT'], ''])
  hold.release()
  assert.deepEqual(await remainsOf(name), [0, null])
})

const endings: Readonly<Record<string, readonly [rest: string, code: number]>> = {
  'has nothing left to do': ['', 0],
  'calls process.exit': ['process.exit(3)', 3],
  'fails with an uncaught error': [`throw new Error('a mistake')`, 1],
  'fails with an unhandled rejection': [`void Promise.reject(new Error('one')); ${forever}`, 1],
}
for (const [how, [rest, code]] of Object.entries(endings)) {
  test(`a program that ${how} leaves no session behind`, async () => {
    const name = await createMachine()
    const { ended } = await startTyping(name, rest)
    assert.deepEqual(await ended, [code, null])
    assert.deepEqual(await remainsOf(name), [0, null])
  })
}

test('a program that handles the signal goes on typing, and ends when it wants to', async () => {
  const name = await createMachine()
  const rest = `
    ${forever}
    process.on('SIGINT', async () => {
      await machine.keyboard.type('still here')
      console.log('still here')
      if (++signals === 2) process.exit(4)
    })
    let signals = 0`
  const { child, ended, errors } = await startTyping(name, rest)
  child.kill('SIGINT')
  await once(child.stdout, 'data')
  assert.equal((await remainsOf(name))[0], 1)
  child.kill('SIGINT')
  assert.deepEqual([await ended, await errors], [[4, null], ''])
  assert.deepEqual(await remainsOf(name), [0, null])
})

test('another library that only cleans up before the signal ends the program is not kept from it', async () => {
  const name = await createMachine()
  // As the package signal-exit does it: end the program if nobody else listens.
  const rest = `
    ${forever}
    const cleanUp = (signal) => {
      if (process.listenerCount(signal) > 1) return
      process.off(signal, cleanUp)
      process.kill(process.pid, signal)
    }
    process.on('SIGINT', cleanUp)
    await machine.input.close()
    await machine.keyboard.type('again, with the other listener in place')
    console.log('typed again')`
  const { child, ended } = await startTyping(name, rest)
  await once(child.stdout, 'data')
  child.kill('SIGINT')
  assert.deepEqual(await ended, [null, 'SIGINT'])
})

test('with closeOnExit: false the SDK listens for nothing, and the lease stays until it expires', async () => {
  const name = await createMachine()
  const { child, ended } = await startTyping(name, forever, 'closeOnExit: false')
  child.kill('SIGINT')
  assert.deepEqual(await ended, [null, 'SIGINT'])
  assert.equal((await remainsOf(name))[0], 1)
})

test('a server that does not answer delays the end of a program by two seconds at most', async () => {
  const name = await createMachine()
  const silent = 'globalThis.fetch = () => new Promise(() => {})'
  const { child, ended } = await startTyping(name, `${silent}\n${forever}`)
  child.kill('SIGINT')
  assert.deepEqual(await ended, [null, 'SIGINT'])
})

test('listeners exist only while a session is open', async () => {
  const name = await createMachine()
  const counts = (when: string) => `
    const ${when} = ['SIGINT', 'SIGTERM', 'exit', 'beforeExit'].map((event) => process.listenerCount(event))`
  const rest = `
    ${counts('during')}
    await computer.close()
    ${counts('after')}
    console.error(JSON.stringify({ during, after }))`
  const { ended, errors } = await startTyping(name, rest)
  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(JSON.parse(await errors), { during: [1, 1, 1, 1], after: [0, 0, 0, 0] })
})
