/** `grove invite`: creates invitations as the operator. */

import * as limits from '../../base/limits.ts'
import { isEmail } from '../../domain/accounts/identity.ts'
import {
  createInvitation,
  createSignUpInvitation,
  invitationDays,
  invitationUrl,
} from '../../domain/accounts/invitations.ts'
import { operator } from '../../domain/actor.ts'
import { type Call, printLine, requireFolder, requireOrgId, requireRoleName, UsageError, withDeps } from './command.ts'

export interface InviteOptions {
  readonly org?: string
  readonly role?: string
  readonly email?: string
  readonly uses?: string
  readonly days?: string
}

const dayMs = 24 * 3600 * 1000

/**
 * Prints a new invitation's token and, if PUBLIC_URL is set, its link.
 *
 * Without an organisation the invitation only lets users sign up.
 */
export async function invite(call: Call, { org, role, email, uses, days }: InviteOptions): Promise<number> {
  if ((org === undefined) !== (role === undefined)) throw new UsageError('Use --org and --role together')
  const target =
    org === undefined ? undefined : { at: { org_id: requireOrgId(org) }, role: requireRoleName(role ?? '') }
  if (email !== undefined && !isEmail(email)) throw new UsageError(`${email} is not an e-mail address`)
  const count = requireNumber('--uses', uses, 1, limits.invitationUses)
  const lasting = requireNumber('--days', days, invitationDays.default, invitationDays.longest)
  const { dataDir, publicUrl } = call.config
  await requireFolder(dataDir)
  return withDeps(call, async (deps) => {
    const bounds = {
      ...(email === undefined ? {} : { email }),
      uses: count,
      expires_at: new Date(deps.now().getTime() + lasting * dayMs).toISOString(),
    }
    const { token } =
      target === undefined
        ? await createSignUpInvitation({ ...deps, actor: operator }, bounds)
        : await createInvitation(
            { ...deps, actor: operator },
            { path: target.at, body: { role: target.role, ...bounds } },
          )
    printLine(token)
    if (publicUrl !== undefined) printLine(invitationUrl(publicUrl, token))
    return 0
  })
}

/** Reads a number from 1 to `most`; returns `usual` if it is absent. @throws UsageError */
function requireNumber(option: string, text: string | undefined, usual: number, most: number): number {
  if (text === undefined) return usual
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > most) throw new UsageError(`${option} ${text} is not a number from 1 to ${most}`)
  return number
}
