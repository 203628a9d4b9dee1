import { MachineId, TerminalClientMessage, TerminalId } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Actor } from '../actor.ts'
import type { App } from '../app.ts'
import { getRunningMachine } from '../domain/find-machine.ts'
import { callGuest, guestRef } from '../domain/guests/calls.ts'
import { ApiError } from '../errors.ts'
import type { GuestRef } from '../guest/channels.ts'
import { GuestRefusal, GuestUnavailable } from '../guest/errors.ts'
import { attachTerminal } from '../guest/terminals.ts'
import { mountChannel, type GatewayContext } from './channel.ts'
import type { Connection } from './connection.ts'

/** Upper bound on what a client may type or paste in one frame. */
const maxInputBytes = 1024 * 1024

/**
 * The bytes of a pty, unmodified. The pty lives in the machine: after a lost connection the client
 * reconnects and gets the last 256 KiB again. Nothing is buffered here: a slow client slows the agent
 * down, and a program that does not read slows the client down.
 */
export function mountTerminalChannel(
  http: FastifyInstance,
  app: Pick<App, 'db' | 'guests'>,
  context: GatewayContext,
): void {
  mountChannel(http, context, 'terminal', {
    params: z.object({ machine_id: MachineId, terminal_id: TerminalId }),
    query: z.strictObject({}),
    admit: async (actor, { params }) => {
      const machine = await getRunningMachine(app.db, actor, params.machine_id)
      const ref = guestRef(machine)
      await callGuest(() => app.guests.readTerminal(ref, params.terminal_id))
      return { machineId: machine.id, sessionId: null, ref, terminalId: params.terminal_id }
    },
    open: async (connection, { ref, terminalId }) => {
      const attaching = attach(app, connection, ref, terminalId)
      takeInput(connection, attaching)
      const stream = await attaching
      if (!stream) return
      connection.onClose(() => stream[Symbol.dispose]())
      await stream.read((message) => {
        if ('payload' in message) {
          connection.sendPayload(message.payload)
          if (!connection.hasRoom) return connection.drained()
        } else if (message.control.type === 'exit') {
          connection.sendControl(message.control)
          connection.close(1000, 'the command has exited')
        }
      })
      await closeWithoutExit(app, connection, ref.id)
    },
  })
}

type Stream = Awaited<ReturnType<typeof attachTerminal>>

/** Null when it cannot be attached; the connection is then closed with the reason. */
async function attach(
  app: Pick<App, 'guests'>,
  connection: Connection,
  ref: GuestRef,
  id: TerminalId,
): Promise<Stream | null> {
  try {
    return await attachTerminal(app.guests.channels, ref, id)
  } catch (error) {
    if (error instanceof GuestRefusal && error.code === 'conflict') {
      connection.close('conflict', 'another client is connected to the terminal')
    } else if (error instanceof GuestRefusal && error.code === 'not_found') {
      connection.close('gone', 'the terminal is gone')
    } else if (error instanceof GuestRefusal || error instanceof GuestUnavailable) {
      connection.close('goingAway', 'the machine does not respond; reconnect')
    } else throw error
    return null
  }
}

/** Input that arrives before the stream is attached waits for it, in order. */
function takeInput(connection: Connection, attaching: Promise<Stream | null>): void {
  const forward = async (send: (stream: Stream) => boolean) => {
    const stream = await attaching.catch(() => null)
    if (!stream || send(stream)) return
    connection.pause()
    await stream.drained()
    connection.resume()
  }
  connection.onControl(
    TerminalClientMessage,
    (message) => void forward((stream) => stream.send(message)),
  )
  connection.onPayload(
    (bytes) => void forward((stream) => stream.sendPayload(bytes)),
    maxInputBytes,
  )
}

/** The stream ended without an exit: either the machine stopped, or only its channel broke. */
async function closeWithoutExit(
  app: Pick<App, 'db'>,
  connection: Connection,
  machineId: MachineId,
): Promise<void> {
  if (!connection.isOpen) return
  if (await isMachineRunning(app, connection.authorization.actor, machineId))
    connection.close('goingAway', 'the machine does not respond; reconnect')
  else connection.close('gone', 'the machine is no longer running')
}

async function isMachineRunning(
  app: Pick<App, 'db'>,
  actor: Actor,
  id: MachineId,
): Promise<boolean> {
  try {
    await getRunningMachine(app.db, actor, id)
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}
