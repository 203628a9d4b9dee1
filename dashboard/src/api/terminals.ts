import type { Machine, Terminal } from '@computer/sdk'
import { queryOptions } from '@tanstack/react-query'
import { machineHandle } from './machines.ts'
import { queryClient } from './query-client.ts'

/** No event tells of terminals that other programs open and close. */
const pollMs = 10_000

/** The open terminals of a running machine, newest first. */
export function terminalsQuery(machineId: string, isRunning: boolean) {
  return queryOptions({
    queryKey: ['machine', machineId, 'terminals'] as const,
    queryFn: async ({ signal }) => {
      const { terminals } = await machineHandle(machineId)
      return terminals.list({ limit: 100, signal }).all()
    },
    enabled: isRunning,
    refetchInterval: pollMs,
  })
}

export type TerminalUser = NonNullable<
  NonNullable<Parameters<Machine['terminals']['open']>[0]>['user']
>

/** Starts a login shell. */
export async function openTerminal(machineId: string, user: TerminalUser): Promise<Terminal> {
  const terminal = await (await machineHandle(machineId)).terminals.open({ user })
  changeList(machineId, (old) => [terminal, ...old])
  return terminal
}

/** Kills the shell of a terminal and all that runs in it. */
export async function killTerminal(machineId: string, terminalId: string): Promise<void> {
  await (await machineHandle(machineId)).terminals.kill(terminalId)
  forgetTerminal(machineId, terminalId)
}

/** Takes a terminal that has ended from the list, without asking the server. */
export function forgetTerminal(machineId: string, terminalId: string): void {
  changeList(machineId, (old) => old.filter(({ id }) => id !== terminalId))
}

function changeList(
  machineId: string,
  change: (terminals: readonly Terminal[]) => Terminal[],
): void {
  const { queryKey } = terminalsQuery(machineId, true)
  // A list that was asked for before the change must not undo it.
  void queryClient.cancelQueries({ queryKey })
  queryClient.setQueryData(queryKey, (old) => change(old ?? []))
}
