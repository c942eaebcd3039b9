/**
 * Names and e-mail addresses of bots in Git. A bot's name ends in `[bot]`, and its address contains its id. Users get
 * neither. The addresses receive no mail, because `.invalid` is reserved. Source: RFC 2606 §2.
 */

import { botEmailEnd } from '../../../index/derived/schema.ts'
import { isId } from '../layout.ts'

const mark = '[bot]'

export function botEmail(id: string): string {
  return `${id}${botEmailEnd}`
}

export function isBotEmail(email: string): boolean {
  return email.toLowerCase().endsWith(botEmailEnd)
}

/** The account id in a bot's address; undefined for any other address. */
export function parseBotEmail(email: string): string | undefined {
  const id = email.toLowerCase().slice(0, -botEmailEnd.length)
  return isBotEmail(email) && isId(id) ? id : undefined
}

/** True if that member is a bot. The index has no other field for it. */
export function isBotMember({ user_id, email }: { readonly user_id: string; readonly email: string }): boolean {
  return email === botEmail(user_id)
}

/** Returns the name of a bot in Git, with the mark once. */
export function botName(name: string): string {
  return `${withoutMark(name)}${mark}`
}

/** Returns a bot's name without the mark. */
export function withoutMark(name: string): string {
  return name.endsWith(mark) ? name.slice(0, -mark.length).trimEnd() : name
}

/** True if the name looks like that of a bot. Signs, spaces, case and width do not matter. */
export function looksLikeBot(name: string): boolean {
  return /\[bot\]$/i.test(name.normalize('NFKC').replace(/[^\p{L}\p{N}[\]]/gu, ''))
}
