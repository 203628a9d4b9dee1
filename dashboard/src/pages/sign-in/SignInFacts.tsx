import type { ReactNode } from 'react'

/** What a link is for, as names and values. */
export function SignInFacts({
  facts,
}: {
  readonly facts: readonly { readonly label: string; readonly value: ReactNode }[]
}) {
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 rounded-lg bg-sunken p-3">
      {facts.map(({ label, value }) => (
        <div key={label} className="col-span-2 grid grid-cols-subgrid">
          <dt className="text-muted">{label}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
