import type { Template } from '@computer/sdk'
import { limits } from '@computer/sdk/tables'
import { TextArea, TextField } from '../../ui/Field.tsx'
import type { FormState } from '../../ui/use-form.ts'

/** The name and the description of a template, with the server's messages. */
export function TemplateFields({
  form,
  template,
}: {
  readonly form: Pick<FormState, 'errorOf'>
  /** The one that is edited. */
  readonly template?: Pick<Template, 'name' | 'description'>
}) {
  return (
    <>
      <TextField
        label="Name"
        name="name"
        required
        defaultValue={template?.name}
        maxLength={limits.templateName.maxLength}
        error={form.errorOf('name')}
        autoComplete="off"
        autoFocus
      />
      <TextArea
        label="Description"
        name="description"
        rows={2}
        defaultValue={template?.description}
        maxLength={limits.templateDescription.maxLength}
        error={form.errorOf('description')}
        hint="What it is for. It may be left empty."
      />
    </>
  )
}
