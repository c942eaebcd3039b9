/** `grove member`: members of organisations, changed by the operator. */
import { operator } from '../../domain/actor.ts'
import { putMember } from '../../domain/orgs/members.ts'
import { type Call, printLine, requireFolder, requireOrgId, requireRoleName, withDeps } from './command.ts'

/** Commits to org.git as `operator`. Works for an organisation without an owner. */
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
