/** A program that does something with a machine: the lines of an empty page. */
export function sdkExample(machineName: string, ...lines: readonly string[]): string {
  return [
    `import { Computer } from '@computer/sdk'`,
    '',
    'const computer = new Computer()',
    `const machine = await computer.machines.get('${machineName}')`,
    ...lines,
  ].join('\n')
}
