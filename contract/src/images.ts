import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { ImageId } from './ids.ts'
import { PageQuery, pageOf } from './list.ts'
import { MachineOs } from './machines.ts'
import { Timestamp } from './text.ts'

export const Image = z
  .object({
    id: ImageId,
    name: z.string(),
    os: MachineOs,
    description: z.string(),
    default: z
      .boolean()
      .describe('Whether new machines use this image unless another is requested.'),
    created_at: Timestamp,
  })
  .meta({ id: 'Image' })
export type Image = z.infer<typeof Image>

export const images = {
  list: endpoint({
    method: 'GET',
    path: '/v1/images',
    summary: 'List machine images.',
    requires: 'member',
    query: PageQuery,
    status: 200,
    response: pageOf(Image),
  }),
}
