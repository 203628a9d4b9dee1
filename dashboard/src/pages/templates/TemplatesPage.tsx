import type { Template } from '@computer/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useDenial } from '../../api/session.ts'
import { deleteTemplate, templatesQuery } from '../../api/templates.ts'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Plus } from '../../ui/icons.ts'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Table } from '../../ui/Table.tsx'
import { EditTemplate } from './EditTemplate.tsx'
import { NewTemplate } from './NewTemplate.tsx'
import { TemplateRow } from './TemplateRow.tsx'

/** The starting points of new machines. */
export function TemplatesPage() {
  const query = useInfiniteQuery(templatesQuery)
  const denied = useDenial('templates:write')
  const [isCreating, setCreating] = useState(false)
  const templates = query.data?.pages.flatMap(({ data }) => data) ?? []
  const create = (
    <Button
      look="primary"
      icon={<Plus aria-hidden />}
      disabledReason={denied}
      onClick={() => setCreating(true)}
    >
      New template
    </Button>
  )
  return (
    <Page
      title="Templates"
      description="Starting points of new machines: a disk with all that is on it, or an image and a size."
      actions={templates.length > 0 && create}
    >
      <QueryView query={query}>
        {() =>
          templates.length === 0 ? (
            <NoTemplates action={create} />
          ) : (
            <>
              <TemplateTable templates={templates} />
              <LoadMore query={query} />
            </>
          )
        }
      </QueryView>
      {isCreating && <NewTemplate onClose={() => setCreating(false)} />}
    </Page>
  )
}

function TemplateTable({ templates }: { readonly templates: readonly Template[] }) {
  const [asked, setAsked] = useState<{ what: 'edit' | 'delete'; template: Template }>()
  const close = () => setAsked(undefined)
  return (
    <>
      <Table label="Templates" head={['Name', 'Made from', 'Size', 'Disk', 'Created', '']}>
        {templates.map((template) => (
          <TemplateRow
            key={template.id}
            template={template}
            onEdit={() => setAsked({ what: 'edit', template })}
            onDelete={() => setAsked({ what: 'delete', template })}
          />
        ))}
      </Table>
      {asked?.what === 'edit' && <EditTemplate template={asked.template} onClose={close} />}
      {asked?.what === 'delete' && (
        <Confirm
          open
          onOpenChange={close}
          title={`Delete “${asked.template.name}”`}
          action="Delete"
          onConfirm={() => deleteTemplate(asked.template.id)}
        >
          <p>
            No new machine can be made from it. Machines that were made from it stay as they are.
          </p>
        </Confirm>
      )}
    </>
  )
}

function NoTemplates({ action }: { readonly action: React.ReactNode }) {
  return (
    <Empty
      title="No templates yet"
      action={action}
      cli={[
        'computer templates create browser-ready --machine my-machine',
        'computer machines create --template browser-ready',
      ].join('\n')}
      sdk={[
        `import { Computer } from '@computer/sdk'`,
        '',
        'const computer = new Computer()',
        `const { id: machineId } = await computer.machines.get('my-machine')`,
        `const template = await computer.templates.create({ name: 'browser-ready', machineId })`,
        'const machine = await computer.machines.create({ template: template.id })',
      ].join('\n')}
    >
      Set one machine up, with its programs and sign-ins, and make it a template: each new machine
      then starts like it.
    </Empty>
  )
}
