/** How pages mark bots. */

/** Marks a member that is a bot. A name alone proves nothing: pushed commits may have any. */
export function BotMark() {
  return <span class="pill">bot</span>
}
