import type { HelpOutcome, HelpRequest, HelpTaken, Machine } from '@computer/sdk'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { queryClient } from './query-client.ts'

/*
 * The help requests of the organization. The activity feed tells when one changes (live-help.ts).
 */

/** The begin of the keys of all that is shown of help requests. */
export const helpKey = ['help-requests'] as const

const pageSize = 100
const earlierPageSize = 25
/** More of a machine are refused. */
const mostOfMachine = 5

/** The requests that wait for a person or that a person has, newest first. */
export const currentHelpQuery = infiniteQueryOptions({
  queryKey: [...helpKey, 'current'] as const,
  queryFn: async ({ signal, pageParam: cursor }) =>
    computer.helpRequests.list({ state: ['open', 'active'], limit: pageSize, cursor, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
})

/** The requests that have ended, newest first. */
export const earlierHelpQuery = infiniteQueryOptions({
  queryKey: [...helpKey, 'earlier'] as const,
  queryFn: async ({ signal, pageParam: cursor }) =>
    computer.helpRequests.list({
      state: ['done', 'declined', 'cancelled', 'expired'],
      limit: earlierPageSize,
      cursor,
      signal,
    }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
})

/** The requests of one machine that have not ended, newest first. */
export function machineHelpQuery(machineId: string) {
  return queryOptions({
    queryKey: [...helpKey, 'machine', machineId] as const,
    queryFn: async ({ signal }) => {
      const query = { machineId, state: ['open' as const, 'active' as const] }
      const page = await computer.helpRequests.list({ ...query, limit: mostOfMachine, signal })
      return page.data
    },
  })
}

/** The screen before or after somebody had it, which never changes. */
export function helpPictureQuery(helpRequestId: string, of: 'before' | 'after') {
  return queryOptions({
    queryKey: ['help-pictures', helpRequestId, of] as const,
    queryFn: async ({ signal }) => {
      const bytes = await computer.helpRequests.picture(helpRequestId, of, { signal })
      return new Blob([bytes], { type: 'image/webp' })
    },
    staleTime: Infinity,
  })
}

/** One request, also after it has ended. */
export function helpQuery(helpRequestId: string) {
  return queryOptions({
    queryKey: [...helpKey, 'one', helpRequestId] as const,
    queryFn: ({ signal }) => computer.helpRequests.get(helpRequestId, { signal }),
  })
}

export type HelpAnswer = {
  readonly outcome: HelpOutcome
  readonly text?: string | undefined
  readonly choice?: string | undefined
}

/** Takes a request: its session becomes the one of the machine's input in this page. */
export async function takeHelp({ id }: Pick<HelpRequest, 'id'>): Promise<HelpTaken> {
  try {
    return await computer.helpRequests.take(id)
  } finally {
    void refreshHelp()
  }
}

/** Gives the machine back without an answer. */
export async function releaseHelp({ id }: Pick<HelpRequest, 'id'>): Promise<void> {
  await computer.helpRequests.release(id)
  void refreshHelp()
}

/** Gives up a request while the page goes away: the browser finishes this request without the page. */
export function releaseHelpOnLeave(
  { id }: Pick<HelpRequest, 'id'>,
  { input }: Pick<Machine, 'input'>,
): void {
  input.abandon()
  const url = `/v1/help-requests/${encodeURIComponent(id)}/release`
  void fetch(url, { method: 'POST', keepalive: true }).catch(() => {})
}

export async function answerHelp(
  { id }: Pick<HelpRequest, 'id'>,
  answer: HelpAnswer,
): Promise<void> {
  await computer.helpRequests.answer(id, answer)
  await refreshHelp()
}

export async function cancelHelp({ id }: Pick<HelpRequest, 'id'>): Promise<void> {
  await computer.helpRequests.cancel(id)
  await refreshHelp()
}

/** Only this result has the link. It ends the earlier ones. */
export async function createHelpLink({ id }: Pick<HelpRequest, 'id'>): Promise<string> {
  return (await computer.helpRequests.createLink(id)).takeoverUrl
}

export async function refreshHelp(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: helpKey })
}
