/** `grove config`: the configuration, and what is wrong with it. */
import { type Config, effectiveVariables } from '../../base/config.ts'
import { checkConfig } from '../../process/config-check.ts'
import { printLine, thingsAre } from './command.ts'

/** Prints the value of each variable, a secret as `set`, and each problem. Returns the exit code: 1 if there are any. */
export async function checkConfiguration(config: Config): Promise<number> {
  for (const { name, value, isDefault } of effectiveVariables())
    printLine(`${name}=${value}${isDefault ? ' (default)' : ''}`)
  const found = await checkConfig(config)
  printLine(found.length === 0 ? 'Nothing is wrong' : `${thingsAre(found.length)} wrong:`)
  for (const sentence of found) printLine(`  ${sentence}`)
  return found.length === 0 ? 0 : 1
}
