import { CopyButton } from './CopyButton.tsx'

/** Names and values to copy, such as ids. */
export function Facts({
  facts,
}: {
  readonly facts: readonly { readonly label: string; readonly value: string }[]
}) {
  return (
    <dl className="space-y-1">
      {facts.map(({ label, value }) => (
        <div key={label} className="flex flex-wrap items-center gap-x-3">
          <dt className="w-32 shrink-0 text-muted">{label}</dt>
          <dd className="flex min-w-0 flex-1 items-center gap-1">
            <bdi className="min-w-0 break-all">{value}</bdi>
            <CopyButton text={value} label={`Copy ${label}`} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
