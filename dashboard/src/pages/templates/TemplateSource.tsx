import type { Template } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { imagesQuery } from '../../api/templates.ts'
import { MachineLink } from '../machine/MachineLink.tsx'

/** Where the disk of a template comes from: a machine, by one of its snapshots, or an image. */
export function TemplateSource({
  template: { imageId, snapshotId, sourceMachineId },
}: {
  readonly template: Pick<Template, 'imageId' | 'snapshotId' | 'sourceMachineId'>
}) {
  const { data: images } = useQuery(imagesQuery)
  if (sourceMachineId === null) {
    const image = images?.find(({ id }) => id === imageId)
    return (
      <span className="break-words" title={imageId}>
        Image {image ? <bdi>{image.name}</bdi> : ''}
      </span>
    )
  }
  return (
    <span className="flex flex-col whitespace-nowrap">
      <MachineLink machineId={sourceMachineId} />
      {snapshotId !== null && (
        <Link
          to="/snapshots"
          search={{ machine: sourceMachineId }}
          title={snapshotId}
          className="text-[13px] underline-offset-2 hover:underline"
        >
          its snapshot
        </Link>
      )}
    </span>
  )
}
