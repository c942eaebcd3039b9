/** How pages mark bots, and the roles that bots can have. */

import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { roles } from './roles.tsx'

type BotRole = NonNullable<AnswerOf<'listBots'>['bots'][number]['role']>

/** Marks a member that is a bot. A name alone proves nothing: pushed commits may have any. */
export function BotMark() {
  return <span class="pill">bot</span>
}

const botRoles = roles.flatMap(({ role, may }) => (role === 'owner' ? [] : [{ role, may }]))

/** Reads the role of a bot from a form. @throws AppError bad_request */
export function botRoleOf(form: URLSearchParams): BotRole {
  const found = botRoles.find(({ role }) => role === form.get('role'))
  if (found === undefined) throw new AppError('bad_request', 'There is no such role')
  return found.role
}

export function BotRoleOptions({ chosen }: { readonly chosen: string | null }) {
  return (
    <>
      {botRoles.map(({ role, may }) => (
        <option value={role} selected={role === chosen}>
          {role}: {may}
        </option>
      ))}
    </>
  )
}
