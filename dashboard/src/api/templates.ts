import type { Image, MachineSize, Template } from '@computer/sdk'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { queryClient } from './query-client.ts'

const pollMs = 2_000

/** The templates of the organization, newest first. */
export const templatesQuery = infiniteQueryOptions({
  queryKey: ['templates'] as const,
  queryFn: async ({ signal, pageParam: cursor }) =>
    computer.templates.list({ limit: 100, cursor, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  // No event of the organization tells that a template is ready.
  refetchInterval: ({ state }) => {
    const templates = state.data?.pages.flatMap(({ data }) => data)
    return templates?.some((template) => template.state === 'building') ? pollMs : false
  },
})

/** The images that machines and templates can be made from. */
export const imagesQuery = queryOptions({
  queryKey: ['images'] as const,
  queryFn: ({ signal }): Promise<Image[]> => computer.images.list({ limit: 100, signal }).all(),
})

export type NewTemplate = {
  readonly name: string
  readonly description: string
  /** The disk: of a snapshot, of a running machine as it is now, or of an image. */
  readonly snapshotId?: string
  readonly machineId?: string
  readonly imageId?: string
  readonly size?: MachineSize
}

/** Requests a template. It is `building` until its disk has been captured. */
export async function createTemplate(template: NewTemplate): Promise<Template> {
  const created = await computer.templates.create(template, { wait: false })
  await refreshTemplates()
  return created
}

export async function updateTemplate(
  templateId: string,
  change: { readonly name: string; readonly description: string },
): Promise<void> {
  await computer.templates.update(templateId, change)
  await refreshTemplates()
}

export async function deleteTemplate(templateId: string): Promise<void> {
  await computer.templates.delete(templateId)
  await refreshTemplates()
}

async function refreshTemplates(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ['templates'] })
}
