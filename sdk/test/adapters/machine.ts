import assert from 'node:assert/strict'
import type { Lifetime } from '../../../server/test/harness.ts'
import { createNetwork, type Sent } from '../network.ts'
import { startServer } from '../server.ts'

/** A machine whose display is larger than what models are shown. */
export async function startMachine(t: Lifetime) {
  const server = await startServer(t)
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  await machine.display.resize(1920, 1200)

  /** The mouse and keyboard calls with their bodies, without the lease calls. */
  async function inputsOf(work: () => Promise<unknown>): Promise<unknown[]> {
    network.sent.splice(0)
    await work()
    return network.sent
      .filter(({ what }) => /\/(mouse|keyboard)\//.test(what))
      .map(({ what, body }: Sent) => [
        what.split('/').slice(-2).join('/'),
        JSON.parse(body as string),
      ])
  }

  /** The agent asks for help, and a person moves the pointer before they hand the screen back. */
  async function askForHelp(): Promise<void> {
    const person = server.connect({ sessionType: 'human' })
    const theirs = await person.machines.get(machine.id)
    const { outcome } = await machine.askForHelp({
      reason: 'captcha',
      message: 'Please solve the puzzle.',
      async onRequested({ id }) {
        await person.helpRequests.take(id)
        await theirs.mouse.move(1, 1)
        await person.helpRequests.answer(id, { outcome: 'done' })
      },
    })
    assert.equal(outcome, 'done')
  }
  return { server, machine, inputsOf, askForHelp }
}
