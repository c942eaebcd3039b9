/** `grove config`: shows the configuration and its problems. */
import { type Config, effectiveVariables } from '../../base/config.ts'
import { MailError, tryMailServer } from '../../domain/mail/transport.ts'
import { checkConfig } from '../../process/config-check.ts'
import { printLine, problemsFound } from './command.ts'

/**
 * Prints the value of each variable and each problem. The value of a secret is printed as `set`.
 *
 * @returns the exit code: 1 if there are problems
 */
export async function checkConfiguration(
  config: Config,
  { online = false }: { readonly online?: boolean },
): Promise<number> {
  for (const { name, value, isDefault } of effectiveVariables())
    printLine(`${name}=${value}${isDefault ? ' (default)' : ''}`)
  const found = [...(await checkConfig(config)), ...(online ? await checkMail(config) : [])]
  printLine(problemsFound(found.length))
  for (const sentence of found) printLine(`  ${sentence}`)
  return found.length === 0 ? 0 : 1
}

async function checkMail({ mail }: Config): Promise<string[]> {
  if (mail === undefined) return []
  try {
    await tryMailServer(mail)
    return []
  } catch (error) {
    if (!(error instanceof MailError)) throw error
    return [`SMTP_URL: ${error.message}`]
  }
}
