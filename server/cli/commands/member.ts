/** `grove member`: changes members of organisations as the operator. */
import { operator } from '../../domain/actor.ts'
import { audit } from '../../domain/audit/audit.ts'
import { putMember } from '../../domain/orgs/members.ts'
import { type Call, printLine, requireFolder, requireOrgId, requireRoleName, withDeps } from './command.ts'

/** Adds a member or changes a role, in a commit to org.git by `operator`. An owner is not needed. */
export async function addMember(call: Call, org: string, email: string, roleName: string): Promise<number> {
  const orgId = requireOrgId(org)
  const role = requireRoleName(roleName)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const member = await putMember({ ...deps, actor: operator }, { path: { org_id: orgId, email }, body: { role } })
    const target = { type: 'account', id: member.user_id } as const
    const granted = { actor: operator, orgId, accountId: member.user_id, target, detail: { role: member.role } }
    await audit(deps, { action: 'member.granted', ...granted })
    printLine(`${member.email} is ${member.role} of ${orgId}`)
    return 0
  })
}
