import type { Budget, MachineRecord } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { machineBudgetsQuery } from '../../api/budgets.ts'
import { formatDateTime } from '../../format.ts'
import { CircleAlert } from '../../ui/icons.ts'
import { isolate } from '../../ui/isolate.ts'

/** That a budget stopped a machine, or when one will. */
export function MachineBudgets({ machine: { id, state } }: { readonly machine: MachineRecord }) {
  const { data } = useQuery(machineBudgetsQuery(id))
  if (!data) return null
  const text = noticeOf(state, data.budgets, data.stopMessage)
  if (text === null) return null
  return (
    <div
      role="status"
      className="mx-4 mt-3 flex gap-2.5 rounded-lg border border-line bg-sunken p-3 sm:mx-6"
    >
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />
      <p className="min-w-0 break-words">
        {text}{' '}
        <Link to="/billing" className="font-medium underline">
          See the budgets
        </Link>
      </p>
    </div>
  )
}

/** Why a budget would refuse the start of a machine, or undefined if none would. */
export function useBudgetRefusal({ id }: Pick<MachineRecord, 'id'>): string | undefined {
  const { data } = useQuery(machineBudgetsQuery(id))
  const refusing = data?.budgets.find(({ exhausted, action }) => exhausted && action !== 'notify')
  return refusing && `The budget “${isolate(refusing.name)}” is used up. Ask an owner to raise it.`
}

function noticeOf(
  state: MachineRecord['state'],
  budgets: readonly Budget[],
  stopMessage: string | null,
): string | null {
  if (state === 'stopped' || state === 'stopping') {
    return stopMessage && `${stopMessage[0]!.toUpperCase()}${stopMessage.slice(1)}.`
  }
  if (state !== 'running') return null
  const stops = budgets.filter(({ action, exhaustsAt }) => action === 'stop' && exhaustsAt !== null)
  const next = stops.toSorted((a, b) => Date.parse(a.exhaustsAt!) - Date.parse(b.exhaustsAt!))[0]
  return next
    ? `The budget “${isolate(next.name)}” will be used up ${formatDateTime(next.exhaustsAt!)}, and stops this machine then.`
    : null
}
