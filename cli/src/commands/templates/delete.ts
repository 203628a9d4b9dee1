import { connect, findTemplate } from '../../client.ts'
import { clientCommand, yesFlag } from '../../command.ts'
import { showDone } from '../../output.ts'
import { confirm } from '../../prompt.ts'

export const deleteTemplate = clientCommand('delete')
  .alias('rm')
  .description('Delete a template. Machines created from it are not affected.')
  .argument('<template>', 'template ID or name')
  .addOption(yesFlag())
  .action(async (ref, options) => {
    await using computer = await connect(options)
    const template = await findTemplate(computer, ref)
    await confirm(`Delete the template "${template.name}"?`, options)
    await computer.templates.delete(template.id)
    showDone(`${template.name} is deleted`, template, options)
  })
