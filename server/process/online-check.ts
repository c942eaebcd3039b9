/** Finds problems of the services that the configuration names. Asks them, so it needs the network. */

import type { Config } from '../base/config.ts'
import type { OidcProvider } from '../base/oidc-config.ts'
import { discover } from '../domain/accounts/oidc/providers.ts'
import { MailError, tryMailServer } from '../domain/mail/transport.ts'

/** Returns the problems found. Each is a sentence. */
export async function checkOnline({ oidc = [], mail }: Config): Promise<string[]> {
  return (await Promise.all([checkProviders(oidc), checkMail(mail)])).flat()
}

async function checkProviders(oidc: readonly OidcProvider[]): Promise<string[]> {
  const found = await Promise.all(
    oidc.map(async (provider) => {
      const variable = `OIDC_${provider.id.toUpperCase()}_ISSUER`
      return discover(provider).then(
        () => [],
        (error: unknown) => [`${variable}: the provider cannot be discovered: ${reasonsOf(error)}`],
      )
    }),
  )
  return found.flat()
}

async function checkMail(mail: Config['mail']): Promise<string[]> {
  if (mail === undefined) return []
  try {
    await tryMailServer(mail)
    return []
  } catch (error) {
    if (!(error instanceof MailError)) throw error
    return [`SMTP_URL: ${error.message}`]
  }
}

/** Messages of libraries that say less than their causes. */
const vague: ReadonlySet<string> = new Set(['something went wrong', 'fetch failed'])

function reasonsOf(error: unknown): string {
  const reasons: string[] = []
  for (let one = error; one instanceof Error; one = one.cause)
    if (!vague.has(one.message) || one.cause === undefined) reasons.push(one.message)
  return [...new Set(reasons)].join(': ')
}
