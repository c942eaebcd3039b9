/** `grove member`: changes members of organisations as the operator. */
import { operator } from '../../domain/actor.ts'
import { putMember } from '../../domain/orgs/members.ts'
import { type Call, printLine, requireFolder, requireOrgId, requireRoleName, withDeps } from './command.ts'

/** Adds a member or changes a role, in a commit to org.git by `operator`. An owner is not needed. */
export async function addMember(call: Call, org: string, email: string, roleName: string): Promise<number> {
  const orgId = requireOrgId(org)
  const role = requireRoleName(roleName)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const member = await putMember(deps, operator, { orgId, email }, { role })
    printLine(`${member.email} is ${member.role} of ${orgId}`)
    return 0
  })
}
