import type { Template, TemplateState } from '@computer/sdk'
import { useNavigate } from '@tanstack/react-router'
import { useDenial } from '../../api/session.ts'
import { formatBytes } from '../../format.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import { Pencil, Plus, Trash2 } from '../../ui/icons.ts'
import { Cell, Row } from '../../ui/Table.tsx'
import { Time } from '../../ui/Time.tsx'
import { TemplateSource } from './TemplateSource.tsx'

export function TemplateRow({
  template,
  onEdit,
  onDelete,
}: {
  readonly template: Template
  readonly onEdit: () => void
  readonly onDelete: () => void
}) {
  const { id, name, description, state, size, sizeBytes, createdAt, error } = template
  const navigate = useNavigate()
  const createDenied = useDenial('machines:create')
  const denied = useDenial('templates:write')
  return (
    <Row>
      <Cell className="max-w-80 min-w-48">
        <span className="flex flex-wrap items-center gap-x-2">
          <bdi className="min-w-0 font-medium break-words">{name}</bdi>
          <TemplateStateBadge state={state} />
        </span>
        {description !== '' && (
          <bdi className="block text-[13px] break-words text-muted">{description}</bdi>
        )}
        {error && <span className="block text-[13px] break-words text-bad">{error}</span>}
      </Cell>
      <Cell className="text-muted">
        <TemplateSource template={template} />
      </Cell>
      <Cell className="text-muted">{size}</Cell>
      <Cell className="whitespace-nowrap text-muted">
        {sizeBytes === null ? '–' : formatBytes(sizeBytes)}
      </Cell>
      <Cell className="text-muted">
        <Time iso={createdAt} />
      </Cell>
      <Cell className="text-right whitespace-nowrap">
        <Button
          size="small"
          icon={<Plus aria-hidden />}
          aria-label={`New machine from ${name}`}
          disabledReason={createDenied ?? whyNotReady(template)}
          onClick={() => void navigate({ to: '/', search: { create: id } })}
        >
          New machine
        </Button>
        <Button
          look="ghost"
          size="small"
          label={`Edit ${name}`}
          icon={<Pencil aria-hidden />}
          disabledReason={denied}
          onClick={onEdit}
        />
        <Button
          look="ghost"
          size="small"
          label={`Delete ${name}`}
          icon={<Trash2 aria-hidden />}
          disabledReason={denied}
          onClick={onDelete}
        />
      </Cell>
    </Row>
  )
}

function TemplateStateBadge({ state }: { readonly state: TemplateState }) {
  if (state === 'building') return <Badge tone="warn">Being made</Badge>
  if (state === 'error') return <Badge tone="bad">Failed</Badge>
  return null
}

function whyNotReady({ name, state }: Template): string | undefined {
  if (state === 'building') return `“${name}” is still being made.`
  if (state === 'error') return `“${name}” could not be made. Delete it and make another.`
  return undefined
}
