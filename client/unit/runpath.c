/* runpath.c - dlopen must know the caller: a plugin that only this program's RUNPATH names must be
 * found under the shim too.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *plugin = dlopen("libunit_plugin.so", RTLD_NOW);
    int (*answer)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_answer") : NULL;
    if (!answer || answer() != 42) {
        printf("FAILED runpath: %s\n", dlerror());
        return 1;
    }
    printf("ok runpath: a plugin is found under the shim\n");
    return dlclose(plugin);
}
