/** `grove config`: shows the configuration and its problems. */
import { type Config, effectiveVariables } from '../../base/config.ts'
import { printable } from '../../domain/format/text-rules.ts'
import { checkConfig } from '../../process/config-check.ts'
import { checkOnline } from '../../process/online-check.ts'
import { printLine, problemsFound } from './command.ts'

/**
 * Prints the value of each variable and each problem. The value of a secret is printed as `set`.
 *
 * @param isOnline true: also asks the services that it names
 * @returns the exit code: 1 if there are problems
 */
export async function checkConfiguration(
  config: Config,
  { online = false }: { readonly online?: boolean },
): Promise<number> {
  for (const { name, value, isDefault } of effectiveVariables())
    printLine(`${name}=${value}${isDefault ? ' (default)' : ''}`)
  const note = (sentence: string) => printLine(printable(sentence))
  const found = [...(await checkConfig(config)), ...(online ? await checkOnline(config, note) : [])]
  printLine(problemsFound(found.length))
  for (const sentence of found) printLine(`  ${sentence}`)
  return found.length === 0 ? 0 : 1
}
