import type { Budget, BudgetAction, BudgetLimit, BudgetScope, BudgetWindow } from '@computer/sdk'
import { queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { machineHandle } from './machines.ts'
import { queryClient } from './query-client.ts'

/** No event tells of use, which goes on. */
const refreshMs = 10_000

/** All budgets of the organization, newest first: at most a hundred. */
export const budgetsQuery = queryOptions({
  queryKey: ['budgets'] as const,
  queryFn: ({ signal }): Promise<Budget[]> => computer.budgets.list({ limit: 100, signal }).all(),
  refetchInterval: refreshMs,
})

/** The budgets that a machine counts for, and why it was stopped last if one of them did. */
export function machineBudgetsQuery(machineId: string) {
  return queryOptions({
    queryKey: ['machine', machineId, 'budgets'] as const,
    queryFn: async ({ signal }) => {
      const budgets = await computer.budgets.list({ machineId, limit: 100, signal }).all()
      const { events } = await machineHandle(machineId)
      const { data } = await events.list({ type: 'machine.updated', limit: 50, signal })
      const stop = data.find(({ toState }) => toState === 'stopping')
      const isByBudget = stop?.message?.startsWith('stopped by budget ') === true
      return { budgets, stopMessage: isByBudget ? (stop.message ?? null) : null }
    },
    refetchInterval: refreshMs,
  })
}

/** The choices for the scope of a budget: the machines, the keys that are not revoked, and the labels. */
export const scopeChoicesQuery = queryOptions({
  queryKey: ['budgets', 'scopes'] as const,
  queryFn: async ({ signal }) => {
    const machines = await computer.machines.list({ limit: 100, signal })
    const keys = await computer.apiKeys.list({ limit: 100, signal })
    const labels = await computer.usage.labels({ signal })
    return {
      machines: machines.data.map(({ id, name }) => ({ id, name })),
      keys: keys.data.filter(({ revokedAt }) => revokedAt === null),
      labelKeys: labels.keys,
    }
  },
})

export type NewBudget = {
  readonly name: string
  readonly scope: BudgetScope
  readonly limit: BudgetLimit
  readonly window: BudgetWindow
  readonly action: BudgetAction
  readonly thresholds: number[]
}

export async function createBudget(budget: NewBudget): Promise<void> {
  await computer.budgets.create(budget)
  await refreshBudgets()
}

export async function updateBudget(
  budgetId: string,
  change: Pick<NewBudget, 'name' | 'limit' | 'action' | 'thresholds'>,
): Promise<void> {
  await computer.budgets.update(budgetId, change)
  await refreshBudgets()
}

export async function deleteBudget(budgetId: string): Promise<void> {
  await computer.budgets.delete(budgetId)
  await refreshBudgets()
}

async function refreshBudgets(): Promise<void> {
  await queryClient.invalidateQueries({
    predicate: ({ queryKey }) => queryKey[0] === 'budgets' || queryKey[2] === 'budgets',
  })
}
