import type { Caller } from './caller.ts'
import type { MachineEntry } from './ledger.ts'
import { pathOf, type Operation } from './operations.ts'

/** Help requests in every state. A person of the same key takes each, so a repeated call finds what the first has done. */
export const help: readonly Operation[] = [
  { name: 'ask for help', weight: 3, needs: 'running', run: askForHelp },
  { name: 'ask and cancel', weight: 1, needs: 'any', run: askAndCancel },
]

/** Asks, takes the machine, and hands it back, leaves it open, cancels, or goes away without a word. */
async function askForHelp(caller: Caller, machine: MachineEntry): Promise<void> {
  const id = await ask(caller, machine)
  if (id === undefined) return
  const taken = await act(caller, id, 'take')
  // Somebody who left has another request of the machine until they count as gone.
  if (taken === 409) return mustEnd(caller, id, 'cancel', 'cancelled')
  if (taken !== 200) return caller.unexpected(`the take of ${id}`, await read(caller, id))
  const end = caller.random.pick(['answer', 'release', 'cancel', 'leave'] as const)
  if (end === 'answer') await mustEnd(caller, id, 'answer', 'done')
  if (end === 'release') {
    await act(caller, id, 'release')
    await mustEnd(caller, id, 'answer', 'done')
  }
  if (end === 'cancel') await mustEnd(caller, id, 'cancel', 'cancelled')
}

async function askAndCancel(caller: Caller, machine: MachineEntry): Promise<void> {
  const id = await ask(caller, machine)
  if (id !== undefined) await mustEnd(caller, id, 'cancel', 'cancelled')
}

/** Undefined if five requests of the machine are waiting, which those leave that nobody ends. */
async function ask(caller: Caller, machine: MachineEntry): Promise<string | undefined> {
  const wanted = {
    reason: caller.random.pick(['login', 'question']),
    message: 'Please help.',
    expires_in_seconds: 60,
  }
  const answer = await caller.create(pathOf(machine, 'help-requests'), wanted)
  if (answer.status === 201) return answer.body.id as string
  if (answer.status !== 409) caller.unexpected(`a help request of ${machine.id}`, answer)
  return undefined
}

async function act(caller: Caller, id: string, action: string): Promise<number> {
  const body = action === 'answer' ? { outcome: 'done' } : undefined
  const { status } = await caller.persist('POST', `/v1/help-requests/${id}/${action}`, body)
  return status
}

/** Its minute may be over before: the worker has ended it then. */
async function mustEnd(caller: Caller, id: string, action: string, state: string): Promise<void> {
  await act(caller, id, action)
  const answer = await read(caller, id)
  if (![state, 'expired'].includes(answer.body.state)) {
    caller.unexpected(`${action} of ${id}`, answer)
  }
}

async function read(caller: Caller, id: string) {
  return caller.persist('GET', `/v1/help-requests/${id}`)
}
