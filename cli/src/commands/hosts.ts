import { Command } from '@commander-js/extra-typings'
import { runAdmin } from './admin/run.ts'

const list = new Command('list')
  .alias('ls')
  .description('List the hosts that run machines, with what is free on them.')
  .option('--json', 'print the result as JSON')
  .action(({ json }) => runAdmin({ command: 'host list' }, { json }))

const add = new Command('add')
  .description('Print a token with which a new host joins this server.')
  .argument('<name>', 'name of the new host, which never changes')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
The token is for one use within an hour, and for as long as the worker of this host runs.
The token gives access to the whole server.`,
  )
  .action((name, { json }) => runAdmin({ command: 'host add', name }, { json }))

const drain = new Command('drain')
  .description('Take all machines and snapshots of a host to other hosts.')
  .argument('<name>', 'name of the host, as shown by `computer hosts list`')
  .option('--no-wait', 'return at once; the host is drained in the background')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
The host gets no new machines. A running machine restarts on its new host, and is away for
as long as that takes. Ctrl-C ends the waiting alone; \`computer hosts undrain\` ends the
draining.`,
  )
  .action((name, { wait, json }) =>
    runAdmin({ command: 'host drain', name, isWaiting: wait }, { json }),
  )

const undrain = new Command('undrain')
  .description('Give a host new machines again. Machines that have left it do not come back.')
  .argument('<name>', 'name of the host')
  .option('--json', 'print the result as JSON')
  .action((name, { json }) => runAdmin({ command: 'host undrain', name }, { json }))

const remove = new Command('remove')
  .alias('rm')
  .description('Take a host that is drained or lost out of the server.')
  .argument('<name>', 'name of the host')
  .option('--json', 'print the result as JSON')
  .action((name, { json }) => runAdmin({ command: 'host remove', name }, { json }))

const lost = new Command('lost')
  .description('Give up a host that will never come back, with the disks that no other host has.')
  .argument('<name>', 'name of the host')
  .option('--json', 'print the result as JSON')
  .addHelpText(
    'after',
    `
The host must be off for ever: nothing stops what it may still run. Its machines are in
error on other hosts, and can be restored to snapshots that other hosts have.`,
  )
  .action((name, { json }) => runAdmin({ command: 'host lost', name }, { json }))

export const hosts = new Command('hosts')
  .description('Manage the hosts of a server, as its operator.')
  .addCommand(list)
  .addCommand(add)
  .addCommand(drain)
  .addCommand(undrain)
  .addCommand(remove)
  .addCommand(lost)
