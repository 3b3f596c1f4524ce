/* plugin.c - the plugin that runpath.c looks for.
 */
int plugin_answer(void);

int plugin_answer(void)
{
    return 42;
}
