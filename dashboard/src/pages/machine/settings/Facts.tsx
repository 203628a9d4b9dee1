import type { MachineRecord } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { imagesQuery } from '../../../api/templates.ts'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { Time } from '../../../ui/Time.tsx'

/** What stays as it is for the life of the machine, to look up and to copy. */
export function Facts({ machine }: { readonly machine: MachineRecord }) {
  const { id, organizationId, imageId, templateId, region, os, createdAt } = machine
  const { data: images } = useQuery(imagesQuery)
  const image = images?.find((one) => one.id === imageId)
  return (
    <dl className="grid gap-x-4 gap-y-1 sm:grid-cols-[8rem_1fr]">
      <Id label="Machine" id={id} />
      <Id label="Organization" id={organizationId} />
      <Id label="Image" id={imageId} note={image?.name} />
      {templateId !== null && <Id label="Template" id={templateId} />}
      <Fact label="Region">{region}</Fact>
      <Fact label="System">{os}</Fact>
      <Fact label="Created">
        <Time iso={createdAt} />
      </Fact>
    </dl>
  )
}

function Id({
  label,
  id,
  note,
}: {
  readonly label: string
  readonly id: string
  readonly note?: string | undefined
}) {
  return (
    <Fact label={label}>
      {note && <bdi className="break-words">{note}</bdi>}
      <code className="text-[13px] break-all">{id}</code>
      <CopyButton text={id} label={`Copy the id of the ${label.toLowerCase()}`} />
    </Fact>
  )
}

function Fact({ label, children }: { readonly label: string; readonly children: React.ReactNode }) {
  return (
    <>
      <dt className="text-muted sm:leading-7">{label}</dt>
      <dd className="flex min-h-7 min-w-0 flex-wrap items-center gap-x-2">{children}</dd>
    </>
  )
}
