import { useState, type ReactNode } from 'react'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { Trash2 } from '../../../ui/icons.ts'
import { DeleteMachine } from '../DeleteMachine.tsx'
import { whyNot } from '../steps.ts'
import { useMachine } from '../use-machine.ts'
import { Facts } from './Facts.tsx'
import { MetadataForm } from './MetadataForm.tsx'
import { NameForm } from './NameForm.tsx'
import { SizeForm } from './SizeForm.tsx'

/** What can be changed about a machine, and what cannot. */
export function SettingsTab() {
  const { record } = useMachine()
  const denied = useDenial('machines:delete')
  const [isDeleting, setDeleting] = useState(false)
  return (
    <section aria-label="Settings" className="mx-auto w-full max-w-3xl px-4 py-5 sm:px-6">
      <Part title="Name">
        <NameForm key={record.name} machine={record} />
      </Part>
      <Part title="Size">
        <SizeForm key={record.size} machine={record} />
      </Part>
      <Part
        title="Metadata"
        note="Your own keys and values, for finding machines and for telling what their use is for."
      >
        <MetadataForm machine={record} />
      </Part>
      <Part title="Facts">
        <Facts machine={record} />
      </Part>
      <Part title="Delete" note="The disk is destroyed. You may keep its snapshots.">
        <Button
          icon={<Trash2 aria-hidden />}
          className="text-bad"
          disabledReason={denied ?? whyNot('delete', record)}
          onClick={() => setDeleting(true)}
        >
          Delete {record.name}
        </Button>
      </Part>
      {isDeleting && <DeleteMachine machine={record} onClose={() => setDeleting(false)} />}
    </section>
  )
}

function Part({
  title,
  note,
  children,
}: {
  readonly title: string
  readonly note?: string
  readonly children: ReactNode
}) {
  return (
    <section
      aria-label={title}
      className="border-b border-line py-5 first:pt-0 last:border-0 sm:grid sm:grid-cols-[12rem_1fr] sm:gap-6"
    >
      <div className="mb-2">
        <h2 className="font-medium">{title}</h2>
        {note && <p className="text-[13px] text-muted">{note}</p>}
      </div>
      <div className="min-w-0">{children}</div>
    </section>
  )
}
