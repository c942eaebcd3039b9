/** Applies the chosen theme. The only script that runs before a page is drawn. */
// Style sheets use this to see that scripts run.
document.documentElement.dataset.script = ''

try {
  const { theme } = localStorage
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Without storage, the theme of the system applies.
}
